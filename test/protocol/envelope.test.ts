import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KernelErrorException } from "../../src/contract/error.ts";
import { idPattern } from "../../src/contract/ids.ts";
import { fail, metricsOf, ok, partial, type Result, skip } from "../../src/contract/result.ts";
import {
  RpcErrorObject,
  RpcErrorResponse,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcSuccess,
} from "../../src/contract/rpc.ts";
import type { Signal } from "../../src/contract/signal.ts";
import {
  createErrorResponse,
  createNotification,
  createRequest,
  createSuccessResponse,
  ErrorResponseException,
  fromEnvelope,
  matchResponseToRequest,
  toEnvelope,
  tryValidateMessageEnvelope,
  validateMessageEnvelope,
} from "../../src/protocol/envelope.ts";
import {
  countingFactory,
  kernelErrors,
  nest,
  ref,
  seededRandom,
  signals,
  throughJson,
  thrown,
} from "../contract/samples.ts";

const request = { jsonrpc: "2.0", id: "req_1", method: "m", params: { a: 1 } };
const notification = { jsonrpc: "2.0", method: "m" };
const success = { jsonrpc: "2.0", id: "req_1", result: { a: 1 } };
const failure = { jsonrpc: "2.0", id: "req_1", error: { code: -32003, message: "no", data: { why: 1 } } };
const refusalOf = (raw: unknown) => {
  const carrier = thrown(() => validateMessageEnvelope(raw));
  expect(carrier).toBeInstanceOf(ErrorResponseException);
  const { response } = carrier as ErrorResponseException;
  expect(RpcErrorResponse.safeParse(response).success).toBe(true);
  expect(response.error.code).toBe(-32600);
  return response;
};

describe("messages", () => {
  it("[RPC-01] jsonrpc is the string 2.0 in every message", () => {
    for (const message of [request, notification, success, failure]) {
      expect(validateMessageEnvelope(message)).toEqual(message);
      for (const jsonrpc of ["1.0", 2, 2.0, null, "2", undefined]) refusalOf({ ...message, jsonrpc });
    }
  });

  it("[RPC-02] a Request needs an id, a Notification has none, params are an object", () => {
    expect(RpcRequest.parse(request)).toEqual(request);
    expect(RpcNotification.parse(notification)).toEqual(notification);
    expect(RpcNotification.safeParse({ ...notification, id: null }).success).toBe(false);
    for (const id of [null, 1, "", undefined]) expect(RpcRequest.safeParse({ ...request, id }).success).toBe(false);
    for (const params of [[1], "x", null]) refusalOf({ ...request, params });
    expect(JSON.stringify(createNotification("m", { a: 1 }))).not.toContain('"id"');
  });

  it("[RPC-03] responses have result or error, never both, and integer codes", () => {
    expect(RpcSuccess.parse(success)).toEqual(success);
    expect(RpcErrorResponse.parse(failure)).toEqual(failure);
    for (const schema of [RpcSuccess, RpcErrorResponse, RpcMessage]) {
      expect(schema.safeParse({ ...success, ...failure }).success).toBe(false);
    }
    for (const code of [1.5, "1", null]) expect(RpcErrorObject.safeParse({ code, message: "m" }).success).toBe(false);
    expect(RpcSuccess.safeParse({ ...success, result: [1] }).success).toBe(false);
  });

  it("[RPC-04] the subtype follows from which of method, id, result and error exist", () => {
    const parts = { method: "m", id: "req_1", result: {}, error: { code: 1, message: "m" } };
    const legal = new Map<string, string>([
      ["method,id", "request"],
      ["method", "notification"],
      ["id,result", "success"],
      ["id,error", "error"],
    ]);
    const keys = ["method", "id", "result", "error"] as const;
    for (let mask = 0; mask < 16; mask++) {
      const present = keys.filter((_, bit) => mask & (1 << bit));
      const raw = { jsonrpc: "2.0", ...Object.fromEntries(present.map((key) => [key, parts[key]])) };
      const checked = tryValidateMessageEnvelope(raw);
      expect([present.join(), "message" in checked]).toEqual([present.join(), legal.has(present.join())]);
      if ("message" in checked) expect(Object.keys(checked.message).sort()).toEqual(["jsonrpc", ...present].sort());
    }
  });

  it("[RPC-05] invalid input raises a structured error response that quotes a usable id", () => {
    expect(refusalOf({ foo: 1 })).toMatchObject({ id: null, error: { data: { keys: ["foo"] } } });
    expect(refusalOf({ ...request, method: 7 })).toMatchObject({
      id: "req_1",
      error: { data: { invalid: ["method"] } },
    });
    for (const raw of [null, undefined, "x", 1, [], [request], new Map(), Object.create(request)]) refusalOf(raw);
  });

  it("[RPC-05] whatever comes in, nothing but an error response comes out", () => {
    fc.assert(fc.property(fc.anything({ withNullPrototype: true }), (raw) => void refusalOf(raw)));
    refusalOf(JSON.parse('{"__proto__":{"jsonrpc":"2.0","method":"m"}}'));
    const deep = { ...notification, params: nest(100_000) };
    expect(validateMessageEnvelope(deep)).toMatchObject({ method: "m" });
  });
});

describe("makers", () => {
  it("[RPC-06] createRequest has a fresh id of the entity type, and params only when given", () => {
    const [first, second] = [createRequest("m", { a: 1 }, "action"), createRequest("m", { a: 1 }, "action")];
    expect(first.id).not.toBe(second.id);
    expect(first.id).toMatch(idPattern("act"));
    expect(first).toEqual({ jsonrpc: "2.0", id: first.id, method: "m", params: { a: 1 } });
    const bare = createRequest("m", null, "request");
    expect(bare).not.toHaveProperty("params");
    expect(bare.id).toMatch(idPattern("req"));
    expect(validateMessageEnvelope(bare)).toEqual(bare);
    const { ids, drawn } = countingFactory();
    createRequest("m", null, "request", { ids });
    expect(drawn()).toBe(1);
  });

  it("[RPC-07] createNotification has jsonrpc, method and at most params", () => {
    expect(createNotification("m", { a: 1 })).toStrictEqual({ jsonrpc: "2.0", method: "m", params: { a: 1 } });
    for (const params of [null, undefined]) {
      expect(createNotification("m", params)).toStrictEqual({ jsonrpc: "2.0", method: "m" });
    }
  });

  it("[RPC-08] createSuccessResponse is bound to the request's id", () => {
    expect(createSuccessResponse("req_1", { a: 1 })).toStrictEqual(success);
  });

  it("[RPC-09] createErrorResponse maps its arguments one to one, data may be null", () => {
    expect(createErrorResponse("req_1", -32003, "no", { why: 1 })).toStrictEqual(failure);
    const bare = createErrorResponse("req_1", -1, "m", null);
    expect(bare.error).toStrictEqual({ code: -1, message: "m", data: null });
    expect(validateMessageEnvelope(bare)).toEqual(bare);
    expect(validateMessageEnvelope(createErrorResponse(null, -32600, "m"))).toMatchObject({ id: null });
  });
});

describe("matchResponseToRequest", () => {
  const pool: readonly RpcMessage[] = [
    createNotification("m"),
    RpcRequest.parse(request),
    createSuccessResponse("req_2", {}),
    createErrorResponse("req_1", -1, "m"),
    createSuccessResponse("req_1", {}),
    createErrorResponse(null, -1, "m"),
  ];

  it("[RPC-10] gives the first answer by reference, or null, and leaves the pool alone", () => {
    const before = [...pool];
    expect(matchResponseToRequest("req_1", pool)).toBe(pool[3]);
    expect(matchResponseToRequest("req_2", pool)).toBe(pool[2]);
    expect(matchResponseToRequest("req_3", pool)).toBeNull();
    expect(matchResponseToRequest("req_1", pool.slice(0, 2))).toBeNull();
    expect(pool).toEqual(before);
  });

  it("[RPC-11] fifty outstanding requests each get their own answer, in any order of arrival", () => {
    const sent = Array.from({ length: 50 }, (_, node) => ({ node, request: createRequest("tools/call", { node }) }));
    const random = seededRandom(3);
    const arrived = sent
      .map(({ node, request: { id } }) =>
        node % 3 === 0 ? createErrorResponse(id, -32003, `no ${node}`) : createSuccessResponse(id, { node }),
      )
      .map((message) => ({ message, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ message }) => message);
    for (const { node, request: asked } of sent) {
      const answer = matchResponseToRequest(asked.id, arrived);
      expect(answer).toMatchObject(node % 3 === 0 ? { error: { message: `no ${node}` } } : { result: { node } });
    }
  });
});

describe("renderings", () => {
  const metrics = metricsOf(ref, { duration_ms: 1.5, token_count: 3 });
  const passes = (value: Signal | Result, expectsReply: boolean) => {
    const message = validateMessageEnvelope(throughJson(toEnvelope(value, { expectsReply })));
    expect(fromEnvelope(message)).toStrictEqual(value);
    return message;
  };

  it("[RPC-17] any Signal is a Notification, or a Request when it expects an answer, and is rebuilt from it", () => {
    fc.assert(
      fc.property(signals, fc.boolean(), (signal, expectsReply) => {
        const message = passes(signal, expectsReply);
        expect("id" in message ? message.id : null).toBe(expectsReply ? signal.id : null);
      }),
    );
  });

  it("[RPC-17] any Result is a response, by status, and is rebuilt from it", () => {
    fc.assert(
      fc.property(fc.array(signals, { minLength: 1, maxLength: 2 }), kernelErrors, (some, error) => {
        const results = [
          ok(some, metrics),
          partial(some, error, metrics),
          fail(error, metrics),
          skip("dormant", metrics),
        ];
        for (const result of results) expect(result.status === "error").toBe("error" in passes(result, false));
      }),
    );
  });

  it("[RPC-17] a Result answers the request it is told, else its first Signal's parent, else a fresh id", () => {
    const { signals: make } = countingFactory();
    const child = make.createTextSignal("x", ref, "t", null, { parentId: "sig_parent" });
    expect(toEnvelope(ok([child], metrics), { requestId: "req_9" })).toMatchObject({ id: "req_9" });
    expect(toEnvelope(ok([child], metrics))).toMatchObject({ id: "sig_parent" });
    expect(toEnvelope(skip("x", metrics))).toMatchObject({ id: expect.stringMatching(idPattern("req")) });
  });

  it("[RPC-17] a foreign message is refused with an input error", () => {
    for (const message of [request, success, failure, { ...notification, method: "kernel/signal/text", params: {} }]) {
      const carrier = thrown(() => fromEnvelope(message as RpcMessage));
      expect((carrier as KernelErrorException).error.category).toBe("input");
    }
  });
});
