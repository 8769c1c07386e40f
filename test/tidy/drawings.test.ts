/** The drawings in visualizations are those of the machines as they are. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AnyStateMachine, createMachine } from "xstate";
import { workflowMachine } from "../../machines/index.ts";
import { drawnMachines, renderAll } from "../../visualizations/draw.ts";
import { eventsOf } from "../machines/interpreter.ts";
import { listPaths, readSource, root } from "./source-files.ts";

const drawings = renderAll();
const fileOf = (name: string): string => `visualizations/${name}`;

/** The names whose file is not what the machines give. */
function staleNames(rendered: ReadonlyMap<string, string>): readonly string[] {
  const isFresh = (name: string, text: string) =>
    existsSync(join(root, fileOf(name))) && readSource(fileOf(name)).text === text;
  return [...rendered].filter(([name, text]) => !isFresh(name, text)).map(([name]) => name);
}

describe("drawings", () => {
  it("[CARD-16] each machine has a definition, a diagram and a picture", () => {
    const names = drawnMachines.flatMap(({ id }) => [`${id}.json`, `${id}.mmd`, `${id}.svg`]);
    expect([...drawings.keys()].sort()).toEqual(["README.md", ...names].sort());
    expect(drawnMachines.map(({ id }) => id)).toEqual([
      "workflow",
      "step",
      "gate",
      "action",
      "tier",
      "kernel",
      "token",
    ]);
  });

  it("[CARD-16] the committed files are what the machines give", () => {
    expect(staleNames(drawings), "run: npm run draw").toEqual([]);
  });

  it("[CARD-16] a drawing of a machine that is no more is stale too", () => {
    const drawn = listPaths("visualizations").filter((path) => /^visualizations\/[^/]+\.(json|mmd|svg)$/.test(path));
    expect(drawn.filter((path) => !drawings.has(path.replace("visualizations/", "")))).toEqual([]);
  });

  it("[CARD-16] a changed machine makes its drawings, and only its, stale", () => {
    const { states, ...config } = workflowMachine.config;
    const changed = createMachine({ ...config, states: { ...states, archived: { type: "final" } } } as never);
    const machines = drawnMachines.map((machine): AnyStateMachine => (machine.id === "workflow" ? changed : machine));
    expect(staleNames(renderAll(machines))).toEqual(["README.md", "workflow.json", "workflow.mmd", "workflow.svg"]);
  });

  it("[CARD-16] the definition can be loaded again, and is the same machine", () => {
    for (const machine of drawnMachines) {
      const definition = JSON.parse(drawings.get(`${machine.id}.json`) ?? "");
      const loaded = createMachine(definition);
      expect(JSON.parse(JSON.stringify(loaded.definition))).toEqual(JSON.parse(JSON.stringify(machine.definition)));
    }
  });

  it("every state and every event of a machine is in its diagram and its picture", () => {
    for (const machine of drawnMachines) {
      const words = [...eventsOf(machine), ...Object.keys(machine.states)];
      for (const ending of ["mmd", "svg"]) {
        const text = drawings.get(`${machine.id}.${ending}`) ?? "";
        expect(
          words.filter((word) => !text.includes(word)).map((word) => `${machine.id}.${ending} lacks ${word}`),
        ).toEqual([]);
      }
    }
  });
});
