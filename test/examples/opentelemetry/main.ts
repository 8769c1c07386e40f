/** A workflow as one trace, given to the host's own OpenTelemetry SDK. `npm start` prints the tree of its spans. */

import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createKernel } from "countersign";
import { createObserver, workflowIds } from "countersign/telemetry";
import { person, refund, request } from "../shop/refund.ts";

const exporter = new InMemorySpanExporter(); // yours sends them to a collector
const ids = workflowIds(); // the same workflow is the same trace in every process
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })], idGenerator: ids });
const observer = createObserver({ tracer: provider.getTracer("shop"), ids });
await using kernel = await createKernel({ capabilities: [refund], telemetry: observer });

const { workflow_id } = await kernel.submit({ ...person("ann"), ...request });
await kernel.settled(workflow_id);
await kernel.decideGate(workflow_id, { ...person("bo"), decision: "approve" });
await kernel.settled(workflow_id);

const spans = exporter.getFinishedSpans();
function print(parent: string | undefined, indent = ""): void {
  for (const span of spans.filter((one) => one.parentSpanContext?.spanId === parent)) {
    console.log(indent + span.name);
    print(span.spanContext().spanId, `${indent}  `);
  }
}
print(undefined);
await provider.shutdown();
