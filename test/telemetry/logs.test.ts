/** The log: what people need to know, in JSON lines, and nothing that a caller or an operator wrote. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createLogger, createObserver, type LoggerOptions, traceIdOf } from "../../src/observers/telemetry/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { openEdge, pathOf, submitPath } from "../http/edge-fixture.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";

type Line = Readonly<Record<string, unknown>>;

function openLog(options: Omit<LoggerOptions, "destination"> = {}) {
  const texts: string[] = [];
  const logger = createLogger({ ...options, destination: { write: (text) => void texts.push(text) } });
  return { logger, text: () => texts.join(""), lines: () => texts.map((text) => JSON.parse(text) as Line) };
}

const secret = "s3cr3t-Xq9";
const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";

describe("the log of a kernel", () => {
  it("has gates, refusals, failures and ends, with the ids that link a line to its workflow and trace", async () => {
    const { logger, lines } = openLog();
    const fail = () => {
      throw operatorError({ code: "BROKEN", message: secret, retryable: false });
    };
    const operators = [work(createWorld(), "T.Act"), work(createWorld(), "T.Fail", { run: fail })];
    const steps = [step("s1", "T.Act", { gate: {} }), step("s2", "T.Fail", { depends_on: ["s1"] })];
    await using t = await createTestKernel({
      logger,
      telemetry: createObserver({ logger }),
      limits: { maxReplans: 0 },
      capabilities: [job(steps, operators)],
    });
    const { workflow_id, correlation_id } = await t.run("Test.Job");
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(lines().map((line) => [line["level"], line["message"], line["step_id"] ?? line["code"]])).toEqual([
      ["info", "a gate was opened", "s1"],
      ["info", "a gate was approved", "s1"],
      ["warn", "a step failed", "s2"],
      ["warn", "a workflow failed", expect.stringMatching(/^T4_/)],
    ]);
    for (const line of lines())
      expect(line).toMatchObject({ workflow_id, correlation_id, trace_id: traceIdOf(workflow_id), tenant_id: 1 });
  });

  it("takes pino's place and pino takes its: a detail, then a message; children say what they are bound to", () => {
    const { logger, lines } = openLog({ level: "warn", allow: ["shelf"] });
    const child = logger.child({ trace_id: "t1", token: secret });
    child.info({ tier: 4 }, "not heard");
    child.warn({ tier: 4, shelf: 7, drawer: secret }, "heard");
    expect(lines()).toEqual([
      {
        level: "warn",
        time: expect.stringMatching(/^\d{4}-/),
        trace_id: "t1",
        token: "[redacted]",
        tier: 4,
        shelf: 7,
        drawer: "[redacted]",
        message: "heard",
      },
    ]);
  });
});

describe("what a log never says", () => {
  const hostile = (): Error => {
    const error = new Error(`no\n    at ${secret} (x.js:1:1)`, { cause: new TypeError(secret) });
    return Object.assign(error, { detail: { secret }, headers: { authorization: secret } });
  };

  it.each([
    ["a message", { error: new Error(secret) }],
    ["a message with what looks like a frame", { error: hostile() }],
    ["a message changed since", { error: Object.assign(new Error(secret), { message: "other" }) }],
    ["an error alone", new Error(secret)],
    ["a payload", { params: { secret }, output: secret, payload: [secret] }],
    [
      "headers",
      { headers: { authorization: secret, cookie: secret, "set-cookie": secret }, "idempotency-key": secret },
    ],
    ["a name", { [`Bearer ${secret}`]: 1 }],
    ["a value of another type under a plain name", { status: { secret } }],
    ["a bearer in a plain text", { route: `x Bearer ${secret}` }],
    ["a password in a plain text", { code: `password=${secret}` }],
    ["a getter that throws", Object.defineProperty({}, "code", { enumerable: true, get: () => hostile() })],
  ])("%s", (_title, detail) => {
    const { logger, text } = openLog();
    logger.error(detail, `authorization: ${secret}`);
    expect(text()).toContain('"level":"error"');
    expect(text()).not.toContain(secret);
  });

  it("a token inside a text, wherever it stands", () => {
    const { logger, text } = openLog();
    logger.info({ code: `got ${jwt}`, error: new Error(jwt) }, `said ${jwt} twice ${jwt}`);
    expect(text()).toContain("[redacted]");
    expect(text()).not.toContain(jwt.slice(0, 12));
  });

  it("keeps where an error came from: its class, code, place and frames", () => {
    const { logger, lines } = openLog();
    logger.error({ error: new TypeError(secret) }, "broken");
    const { error } = lines()[0] as { readonly error: { readonly name: string; readonly frames: readonly string[] } };
    expect(error.name).toBe("TypeError");
    expect(error.frames[0]).toMatch(/^at .*logs\.test\.ts(\?vitest=\d+)?:\d+:\d+\)?$/);
  });

  it("a secret in every place where a caller can put one appears in no line, at any level", async () => {
    const { logger, text, lines } = openLog({ level: "debug" });
    const observer = createObserver({ logger });
    const fail = ({ input }: { readonly input: unknown }) => {
      throw operatorError({ code: "BROKEN", message: JSON.stringify(input), details: { input }, retryable: false });
    };
    const crash = ({ input }: { readonly input: unknown }) => {
      throw new Error(`cannot use ${JSON.stringify(input)}`);
    };
    const operators = [
      work(createWorld(), "T.Act", { run: ({ input }) => ({ given: input }) }),
      work(createWorld(), "T.Fail", { run: fail }),
      work(createWorld(), "T.Crash", { run: crash }),
    ];
    const params = { password: secret, nested: { token: secret } };
    const steps = ["T.Act", "T.Fail", "T.Crash"].map((operator, i) =>
      step(`s${i}`, operator, { params, ...(i === 0 ? { gate: {} } : {}) }),
    );
    await using edge = await openEdge(
      { logger, telemetry: observer, capabilities: [job(steps, operators)], limits: { maxReplans: 0 } },
      { logger, observe: observer.http, authenticate: () => null },
    );
    const headers = {
      authorization: "Bearer own",
      cookie: `sid=${secret}`,
      "idempotency-key": secret,
      "x-secret": secret,
    };
    const body = { intent_hint: { intent_type: "Test.Job", inputs: { secret, [secret]: secret } } };
    await edge.ask(submitPath, { headers, body: { ...body, message: secret, [secret]: secret } });
    const { body: accepted } = await edge.ask<{ workflow_id: string }>(submitPath, { headers, body });
    await edge.ask(submitPath, { headers, body: `{"${secret}` });
    await edge.ask(submitPath, {
      headers: { cookie: secret },
      body: { intent_hint: { intent_type: secret, inputs: {} } },
    });
    await edge.ask(`${pathOf(secret)}?after=${secret}`, { headers });
    await edge.ask(`/${secret}`, { headers: { authorization: `Bearer ${secret}` } });
    await edge.ask("/v1/kernel/workflows", { headers: { authorization: `Bearer ${jwt}` } });
    const decision = {
      gate_id: "gate-s0",
      decision: "approve",
      payload: { comment: secret, edit: { password: `another ${secret}` } },
    };
    await edge.t.rest(accepted.workflow_id);
    await edge.ask(pathOf(accepted.workflow_id, "/gate"), { headers, body: decision });
    await edge.t.rest(accepted.workflow_id);
    await edge.t.kernel
      .retry(accepted.workflow_id, { ...testCaller, feedback: secret } as never)
      .catch(() => undefined);
    await edge.t.rest(accepted.workflow_id);
    expect(lines().length).toBeGreaterThan(8);
    expect(text()).not.toContain(secret);
    expect(text()).not.toContain(jwt.slice(0, 12));
    expect(
      lines()
        .filter((line) => line["message"] === "a request was answered")
        .map((line) => line["status"]),
    ).toEqual([400, 202, 400, 400, 400, 401, 401, 200]);
  });
});
