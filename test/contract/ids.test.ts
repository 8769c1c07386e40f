import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ActionId,
  CorrelationId,
  createIdSource,
  EventId,
  fromUuid,
  GateId,
  generateId,
  IdempotencyKey,
  IntentId,
  idPattern,
  OutcomeId,
  PlanId,
  PrincipalId,
  StepId,
  TenantId,
  ThreadId,
  toUuid,
  WorkflowId,
} from "../../src/contract/ids.ts";
import { seededRandom } from "./samples.ts";

const table = [
  ["signal", "sig"],
  ["request", "req"],
  ["intent", "int"],
  ["workflow", "wf"],
  ["plan", "pln"],
  ["action", "act"],
  ["outcome", "out"],
  ["event", "evt"],
  ["correlation", "cor"],
] as const;

const ulidOf = (id: string) => id.slice(id.lastIndexOf("_") + 1);
const isRising = (ids: readonly string[]) => ids.every((id, at) => at === 0 || ulidOf(ids[at - 1]!) < ulidOf(id));

describe("generateId", () => {
  it("[SIG-22] gives the type's prefix and a ULID", () => {
    for (const [entityType, prefix] of table) expect(generateId(entityType)).toMatch(idPattern(prefix));
    expect(generateId("Widget")).toMatch(idPattern("widget"));
    expect(generateId("constructor")).toMatch(idPattern("constructor"));
  });

  it("[SIG-22] two ids of one millisecond strictly increase", () => {
    const ids = createIdSource({ now: () => 5, random: seededRandom() });
    expect(isRising(Array.from({ length: 100 }, () => ids.next("signal")))).toBe(true);
  });
});

describe("createIdSource", () => {
  it("[SIG-22] ids increase over all entity types, however the clock moves", () => {
    const clock = fc.array(fc.oneof(fc.nat(100), fc.double(), fc.maxSafeInteger()), { minLength: 2, maxLength: 60 });
    fc.assert(
      fc.property(clock, fc.constantFrom(...table.map(([type]) => type)), (readings, type) => {
        let at = 0;
        const ids = createIdSource({ now: () => readings[at++ % readings.length]!, random: seededRandom(at) });
        expect(isRising(readings.map((_, turn) => ids.next(turn % 2 === 0 ? type : "event")))).toBe(true);
      }),
    );
  });

  it("[SIG-22] the same clock and draws give the same ids, also on a clock that begins at zero", () => {
    const draw = () => {
      const ids = createIdSource({ now: () => 0, random: seededRandom(7) });
      return table.map(([type]) => ids.next(type));
    };
    expect(draw()).toEqual(draw());
    for (const id of draw()) expect(id).toMatch(/_0{9}1/);
  });

  it("[SIG-22] a random source at its top does not run dry", () => {
    const ids = createIdSource({ now: () => 9, random: () => 0.999999999 });
    expect(isRising(Array.from({ length: 10 }, () => ids.next("signal")))).toBe(true);
  });
});

describe("identifier types", () => {
  it("[SCH-01] generated ids match the pattern of their kind and of no other", () => {
    const schemas = {
      workflow: WorkflowId,
      intent: IntentId,
      plan: PlanId,
      action: ActionId,
      outcome: OutcomeId,
      event: EventId,
      correlation: CorrelationId,
    } as const;
    for (const [type, schema] of Object.entries(schemas)) {
      for (const other of Object.keys(schemas)) {
        expect(schema.safeParse(generateId(other)).success).toBe(type === other);
      }
    }
  });

  it("[SCH-01] ids survive the uuid form, and any uuid survives the id form", () => {
    for (const [type, prefix] of table) {
      const id = generateId(type);
      expect(toUuid(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
      expect(fromUuid(toUuid(id), prefix)).toBe(id);
    }
    const hex = fc.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    fc.assert(
      fc.property(hex, (uuid) => {
        expect(toUuid(fromUuid(uuid, "wf"))).toBe(uuid);
      }),
    );
    expect(toUuid(fromUuid("00000000-0000-0000-0000-000000000000", "wf"))).toMatch(/^[0-]+$/);
    expect(() => toUuid("wf_short")).toThrow(RangeError);
    expect(() => fromUuid("nope", "wf")).toThrow(RangeError);
  });

  it("[SCH-01] the uuid form sorts as the id does", () => {
    const ids = createIdSource({ now: () => 1, random: seededRandom() });
    const uuids = Array.from({ length: 50 }, () => toUuid(ids.next("event")));
    expect([...uuids].sort()).toEqual(uuids);
  });

  it("[SCH-01] tenant, principal and thread are safe integers or bounded, well-formed text", () => {
    for (const schema of [TenantId, PrincipalId, ThreadId]) {
      for (const good of [0, 42, -1, "acme", "é", "x".repeat(256)]) expect(schema.parse(good)).toBe(good);
      for (const bad of ["", "x".repeat(257), 1.5, 2 ** 53, Number.NaN, null, {}, "a\ud800"]) {
        expect(schema.safeParse(bad).success).toBe(false);
      }
    }
  });

  it("[SCH-01] step ids are 1 to 128 letters, digits, _ and -; gate ids begin with gate-; keys are text", () => {
    for (const good of ["s1", "draft-2_r1", "x".repeat(128)]) expect(StepId.parse(good)).toBe(good);
    for (const bad of ["", "a b", "a.b", "x".repeat(129), "s1\n"]) expect(StepId.safeParse(bad).success).toBe(false);
    expect(GateId.parse("gate-s1")).toBe("gate-s1");
    expect(GateId.parse("gate-s1_doubt2")).toBe("gate-s1_doubt2");
    for (const bad of ["s1", "gate-", "gate_s1"]) expect(GateId.safeParse(bad).success).toBe(false);
    expect(IdempotencyKey.safeParse("").success).toBe(false);
  });
});
