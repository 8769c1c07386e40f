/**
 * A notifier that keeps what it was told, and answers as a test wants. Owns: nothing else. Never: asserts anything.
 */
import type { GateNotice, NoticeTaken, Notifier } from "../../src/index.ts";

export interface RecordingNotifier extends Notifier {
  readonly told: GateNotice[];
  /** `opened gate-s1`, in order. */
  readonly lines: () => readonly string[];
}

type Answer = (notice: GateNotice, signal: AbortSignal) => unknown;

/** `answer` gives a remark or a receipt; it may throw, or give a promise that never ends. */
export function recordingNotifier(more: Partial<Notifier> = {}, answer: Answer = () => undefined): RecordingNotifier {
  const told: GateNotice[] = [];
  return {
    name: "recording",
    ...more,
    told,
    lines: () => told.map(({ kind, gate }) => `${kind} ${gate.gate_id}`),
    async deliver(notice, { signal }) {
      const taken = await answer(notice, signal);
      told.push(notice);
      return taken as NoticeTaken | undefined;
    },
  };
}
