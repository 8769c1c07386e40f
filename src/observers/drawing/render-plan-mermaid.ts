/** A plan or a run as a Mermaid flowchart, which code hosts draw in place. */
import type { PlanModel, PlanNode } from "./plan-model.ts";

export function renderPlanMermaid({ title, subtitle, nodes }: PlanModel): string {
  const names = new Map(nodes.map(({ id }, at) => [id, `n${at}`]));
  const lines = [
    `%% ${escapeWords(title)}: ${escapeWords(subtitle)}`,
    "flowchart TD",
    ...nodes.map((node) => `  ${names.get(node.id)}${shapeOf(node)}${node.mark === null ? "" : `:::${node.mark}`}`),
    ...nodes.flatMap((node) =>
      node.dependsOn.filter((id) => names.has(id)).map((id) => `  ${names.get(id)} --> ${names.get(node.id)}`),
    ),
    ...(nodes.some(({ mark }) => mark !== null) ? classes : []),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the shape of a step: double sides for a child workflow, a hexagon for a question, a box for any other. */
function shapeOf(node: PlanNode): string {
  if (node.runs) return `[["${wordsOf(node)}"]]`;
  return node.shape === "asks" ? `{{"${wordsOf(node)}"}}` : `["${wordsOf(node)}"]`;
}

const wordsOf = ({ head, lines }: PlanNode): string => [head.join(" "), ...lines].map(escapeWords).join("<br/>");

/**
 * Escapes a label, because Mermaid reads quotes, markup, formulas and its own entities in labels, and `%%{…}%%` as a
 * directive anywhere.
 */
const escapeWords = (words: string): string => words.replace(/[#"<>&`;%$]/g, (found) => `#${found.codePointAt(0)};`);

const classes = [
  "  classDef queued stroke-dasharray:4 3",
  "  classDef skipped stroke-dasharray:4 3",
  "  classDef running fill:#dbeafe,color:#0f172a",
  "  classDef waits fill:#fef3c7,color:#0f172a",
  "  classDef succeeded fill:#dcfce7,color:#0f172a",
  "  classDef failed fill:#fee2e2,color:#0f172a",
];
