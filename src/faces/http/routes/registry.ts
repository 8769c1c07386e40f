/**
 * The registered capabilities with their JSON Schemas, and the definitions of the machines.
 *
 * 1.  It is the same for every tenant, because packages belong to the host. Callers who may read workflows may read it.
 */
import { z } from "zod";
import { readScope } from "../../../api/reads.ts";
import { type CapabilityDefinition, CapabilityVersion, IntentType } from "../../../contract/capability.ts";
import { CapabilityView } from "../../../contract/capability-view.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { JsonObject } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { describeCapability } from "../../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { requireReader } from "./reads.ts";

const registryRef = moduleRef(0, "http", "registry");
const get = { method: "get", needs: readScope } as const;

const capabilitiesRoute: Route = {
  ...get,
  path: "/v1/kernel/capabilities",
  operation: "listCapabilities",
  summary: "Registered capabilities, each version of them, with their schemas",
  answers: { 200: { description: "All of them.", schema: z.object({ capabilities: z.array(CapabilityView) }) } },
};

const versionQuery = z.object({ version: CapabilityVersion.optional() });

const capabilityRoute: Route<typeof versionQuery> = {
  ...get,
  path: "/v1/kernel/capabilities/:intent_type",
  operation: "readCapability",
  summary: "One capability, in its newest version where none is named",
  params: z.object({ intent_type: IntentType }),
  query: versionQuery,
  answers: { 200: { description: "As it is registered.", schema: CapabilityView } },
};

/** An XState configuration with guards as names. */
const MachineDefinition = z.looseObject({ id: z.string(), states: JsonObject.optional() });

const machinesRoute: Route = {
  ...get,
  path: "/v1/kernel/machines",
  operation: "listMachines",
  summary: "The lifecycles as statecharts, as Stately's editor imports them",
  answers: { 200: { description: "All of them.", schema: z.object({ machines: z.array(MachineDefinition) }) } },
};

const machineRoute: Route = {
  ...get,
  path: "/v1/kernel/machines/:name",
  operation: "readMachine",
  summary: "One lifecycle as a statechart",
  params: z.object({ name: z.string() }),
  answers: { 200: { description: "Its definition.", schema: MachineDefinition } },
};

export function addRegistry(edge: Edge): void {
  addRoute(edge, capabilitiesRoute, async (call) => {
    await requireReader(call, edge);
    return answerJson({ capabilities: edge.kernel.capabilities().map((one) => viewOf(one, edge)) });
  });
  addRoute(edge, capabilityRoute, async (call, { version }) => {
    await requireReader(call, edge);
    return answerJson(findView(edge, call.req.param("intent_type") ?? "", version));
  });
  addRoute(edge, machinesRoute, async (call) => {
    await requireReader(call, edge);
    return answerJson({ machines: edge.kernel.machines() });
  });
  addRoute(edge, machineRoute, async (call) => {
    await requireReader(call, edge);
    const name = call.req.param("name") ?? "";
    return answerJson(edge.kernel.machines().find(({ id }) => id === name) ?? refuseName("machine"));
  });
}

const viewOf = (capability: CapabilityDefinition, { kernel }: Edge): CapabilityView =>
  describeCapability(capability, (name) => kernel.findOperator(name));

function findView(edge: Edge, type: string, version: string | undefined): CapabilityView {
  const { kernel } = edge;
  const known = kernel
    .capabilities()
    .some((one) => one.intentType === type && one.version === (version ?? one.version));
  return known ? viewOf(kernel.getCapability(type, version), edge) : refuseName("capability");
}

const refuseName = (what: string): never =>
  raise(kernelError("T0_HTTP_NAME_UNKNOWN", `there is no ${what} of this name and version`, registryRef));
