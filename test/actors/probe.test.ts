import { it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { gated, intentType } from "./fixture.ts";
it("probe", async () => {
  const ev: string[] = [];
  await using t = await createTestKernel({ capabilities: [gated()], inspect: (e) => { const r = e.actorRef as any; ev.push(`${e.type} ${r.id} ${r.systemId ?? ""} <${r._parent?.id} ${e.type==="@xstate.event" ? (e as any).event.type : ""} ${e.type==="@xstate.snapshot" ? JSON.stringify((e as any).snapshot.value) : ""}`); } });
  const s = await t.run(intentType, {}, { input: { text: "errand please" } });
  console.log(s.state, s.error);
  for (const i of t.items) console.log("to" in i ? `T${i.signal.origin.tier}.${i.signal.origin.module} -> ${i.to} ${i.signal.kind} ${i.signal.body["schema"] ?? i.signal.body["action"] ?? ""} ${i.signal.trace_id.slice(-4)} id ${i.signal.id.slice(-4)} p ${i.signal.parent_id?.slice(-4)} reply ${i.reply?.slice(-4)}` : `   answer from ${i.from} ${i.result.status} ${i.result.signals.map(s=>s.kind+s.origin.tier)} ${i.result.error?.code ?? ""}`);
  console.log(ev.join("\n"));
  await t.approve(s.workflow_id);
  console.log((await t.rest(s.workflow_id)).state);
  for await (const r of t.kernel.export(s.workflow_id)) console.log(JSON.parse(r.body!).map((e: any)=>e.type).join(" "));
  console.log(t.kernel.vitals());
});
