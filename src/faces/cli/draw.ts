/**
 * `draw CAPABILITY|WF`: draws a package's plan, or a workflow in its present state, as SVG or Mermaid; or writes it as
 * a statechart of XState.
 *
 * 1.  No operator is called, and nothing but the named file is written; a plan function is called as a kernel calls it.
 * 2.  A package is drawn without a ledger.
 */
import { type Command, Option } from "commander";
import { templatePlanner } from "../../adapters/template-planner.ts";
import type { AuthContext, Caller } from "../../contract/auth-context.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { ContextBundle } from "../../contract/context-bundle.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Intent } from "../../contract/intent.ts";
import type { JsonObject } from "../../contract/json.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { ExecutionPlan } from "../../contract/plan.ts";
import type { Kernel } from "../../index.ts";
import { readPlan, readRun } from "../../observers/drawing/plan-model.ts";
import { renderPlanMermaid } from "../../observers/drawing/render-plan-mermaid.ts";
import { renderPlanSvg } from "../../observers/drawing/render-plan-svg.ts";
import { withKernel, withRules } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, callerOf, readJsonObject, type Session } from "./options.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { writeOut } from "./write-out.ts";

const formats = ["svg", "mermaid", "xstate"] as const;
type Format = (typeof formats)[number];
/** The parts of a format: a drawing of a plan that has not run, and of a run. */
interface Drawer {
  readonly plan: (title: string, plan: ExecutionPlan, effectOf: (operator: string) => string | null) => string;
  readonly run: (kernel: Kernel, workflowId: string, caller: Caller) => Promise<string>;
}

const drawerOf = (render: (plan: ReturnType<typeof readRun>) => string): Drawer => ({
  plan: (...given) => render(readPlan(...given)),
  run: async (kernel, workflowId, caller) => render(readRun(await kernel.workflow(workflowId, caller))),
});

interface DrawOptions extends CommonOptions {
  readonly as?: Format;
  readonly out?: string;
  readonly input: JsonObject;
}

export function addDraw(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("draw"))
    .description("draw the plan of a capability, or a workflow as it stands")
    .argument("<what>", "an intent type, with or without @version, or a workflow's id")
    .option(
      "--input <json>",
      "what the plan is made of, where it depends on it: an object, or @FILE",
      readJsonObject,
      {},
    )
    .addOption(
      new Option("--as <format>", "svg, mermaid, or xstate for a statechart; by default as the file is called").choices(
        formats,
      ),
    )
    .option("--out <file>", "where to write it; without it, it is printed")
    .action((what: string, options: DrawOptions) => draw(what, { options, terminal }));
}

async function draw(what: string, session: Session<DrawOptions>): Promise<void> {
  const { options, terminal } = session;
  const { out, as: format = formatOf(out) } = options;
  const drawer = await loadDrawer(format);
  const isRun = what.startsWith("wf_");
  const drawing = await (isRun ? drawWorkflow(what, drawer, session) : drawPackage(what, drawer, session));
  if (out !== undefined) writeOut(out, drawing);
  if (options.json) printJson(session, { what, format, ...(out === undefined ? { drawing } : { out }) });
  else terminal.print(out === undefined ? drawing.trimEnd() : `wrote ${out}`);
}

function formatOf(out = ""): Format {
  if (out.endsWith(".json")) return "xstate";
  return /\.(mmd|mermaid|md)$/.test(out) ? "mermaid" : "svg";
}

async function loadDrawer(format: Format): Promise<Drawer> {
  if (format === "svg") return drawerOf(renderPlanSvg);
  if (format === "mermaid") return drawerOf(renderPlanMermaid);
  const { chartOfFlow, flowOfPlan, flowOfRun } = await import("../../observers/inspect/index.ts");
  const write = (flow: Parameters<typeof chartOfFlow>[0]): string => `${JSON.stringify(chartOfFlow(flow), null, 2)}\n`;
  return {
    plan: (...given) => write(flowOfPlan(...given)),
    run: async (kernel, workflowId, caller) =>
      write(flowOfRun(await Array.fromAsync(kernel.events(workflowId, { live: false }, caller)))),
  };
}

const drawWorkflow = (workflowId: string, drawer: Drawer, session: Session<DrawOptions>): Promise<string> =>
  withKernel(session, ({ kernel, caller }) => drawer.run(kernel, workflowId, caller));

function drawPackage(what: string, drawer: Drawer, { options, terminal }: Session<DrawOptions>): Promise<string> {
  const [intentType = "", version] = what.split("@");
  return withRules(options, async (rules) => {
    const { createKernel } = await import("../../index.ts");
    const kernel = await createKernel({ ...rules, recover: false });
    const interrupted = new Promise<never>((_, reject) => {
      terminal.signal.addEventListener("abort", () => reject(terminal.signal.reason), { once: true });
    });
    try {
      const capability = kernel.getCapability(intentType, version);
      const plan = await Promise.race([askPlan(capability, options), interrupted]);
      return drawer.plan(`${capability.intentType} ${capability.version}`, plan, effectIn(kernel, capability));
    } finally {
      await kernel.stop();
    }
  });
}

/**
 * Returns a function that finds the effect of an operator by its name: among the package's own operators, else in the
 * kernel.
 */
function effectIn(kernel: Kernel, { operators }: CapabilityDefinition): (operator: string) => string | null {
  const own = operators.flatMap((one) => (typeof one === "string" ? [] : [one]));
  return (name) =>
    (own.find(({ metadata }) => metadata.name === name) ?? kernel.findOperator(name))?.metadata.effect ?? null;
}

const drawRef = moduleRef(0, "cli", "draw");

/**
 * Makes the plan of a capability from `--input`. @throws KernelErrorException T1_NORMALIZE_INPUTS_INVALID,
 * T3_PLANNER_FAILED, T3_PLAN_INVALID.
 */
async function askPlan(capability: CapabilityDefinition, options: DrawOptions): Promise<ExecutionPlan> {
  const what = `the plan of ${capability.intentType}`;
  const inputs = readStrictly(capability.input, options.input, {
    what: `${what} is made of its input (--input JSON)`,
    source: drawRef,
    code: "T1_NORMALIZE_INPUTS_INVALID",
  });
  const question = { ...questionOf(capability, options, inputs as JsonObject), capability };
  const plan = await makePlan(question, what);
  return readStrictly(ExecutionPlan, plan, { what, source: drawRef, code: "T3_PLAN_INVALID" }) as ExecutionPlan;
}

async function makePlan(question: Parameters<typeof templatePlanner.plan>[0], what: string): Promise<ExecutionPlan> {
  try {
    return (await templatePlanner.plan(question)).plan;
  } catch (thrown) {
    const message = `${what} cannot be made: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    return raise(kernelError("T3_PLANNER_FAILED", message, drawRef));
  }
}

/** Builds the question that a kernel puts to a planner for a new workflow, with an empty context. */
function questionOf({ intentType, version }: CapabilityDefinition, options: DrawOptions, inputs: JsonObject) {
  const { tenant_id, principal } = callerOf(options);
  const { type, id, role } = principal;
  const who = { tenant_id, principal_id: id, principal_type: type, role };
  const auth: AuthContext = { ...who, scopes: [], data_policy: { allow_pii: false, allow_external_send: false } };
  const intent: Intent = {
    ...{ intent_id: "int_drawing", type: intentType, version, actor: principal, scope: null, inputs },
    ...{ constraints: {}, context_refs: {}, text: "", source: "api" },
  };
  const context: ContextBundle = {
    profile: { tenant_id, principal_id: id, role, fields: {} },
    ...{ thread_id: null, memory: [], semantic: [], scope: null, entities: [], documents: [], thread_summary: null },
    ...{ recent_events: [], context_hash: "" },
  };
  const situation = { round: 0, completed: [], failed: [], objective: null };
  return { intent, context, auth, situation };
}
