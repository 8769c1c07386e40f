/** The page that shows all drawings. */

import type { AnyStateMachine } from "xstate";
import { definitionOf } from "../machines/index.ts";
import { readDefinition } from "../src/observers/drawing/chart-model.ts";
import { renderChartMermaid } from "../src/observers/drawing/render-chart-mermaid.ts";

const head = `# The machines

Every lifecycle of Countersign is a statechart in [machines/](../machines). This folder shows each of them three times:
\`<name>.json\` is the definition, for [Stately's editor](https://stately.ai/docs/import-from-code); \`<name>.mmd\` is a
Mermaid diagram; \`<name>.svg\` is a picture. An arrow carries the events that take it, with their guards in brackets;
an arrow from a state to itself carries events that are accepted and move nothing (in the pictures they stand in the
box, in italics). In the pictures blue arrows lead on and brown ones lead back.

All files here but the scripts are generated: \`npm run draw\` writes them, and a test fails when one is stale.
[Growth](growth.md) shows the load that kernels on one database carry, and what to run at which size;
\`npm run growth -- --write\` makes it. \`screens/\` holds a picture of each view of the console at three sizes;
\`npm run screens\` takes them.
`;

export function renderReadme(machines: readonly AnyStateMachine[]): string {
  return [head, ...machines.map(renderSection)].join("\n");
}

function renderSection(machine: AnyStateMachine): string {
  const { id } = machine;
  const files = ["json", "mmd", "svg"].map((ending) => `[${ending}](${id}.${ending})`).join(" · ");
  const title = `${id.charAt(0).toUpperCase()}${id.slice(1)}`;
  const drawing = renderChartMermaid(readDefinition(definitionOf(machine), { notes: true }));
  return `## ${title}\n\n[source](../machines/${id}.ts) · ${files}\n\n\`\`\`mermaid\n${drawing}\`\`\`\n`;
}
