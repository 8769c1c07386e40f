/** The decision that is held: what is sent, when, and the buttons that undo it or send it now; then what came of it. */
import { ended, held, sendHeld, undoHeld } from "../held.ts";
import { now } from "../loaded.tsx";
import { gateHref } from "../route.ts";
import { Line } from "./shown.tsx";

/** How long good ends are shown; any other stays until it is closed. */
const shownMs = 10_000;

/** Does what a button of the bar says, which then is gone: the focus goes to the heading of what is open. */
function leaveBar(act: () => void): void {
  act();
  const heading = document.querySelector<HTMLElement>("#detail h1") ?? document.querySelector<HTMLElement>("h1");
  heading?.focus();
}

export function HeldBar() {
  const one = held.value;
  if (one !== null) {
    const seconds = Math.max(0, Math.ceil((one.until - now.value) / 1000));
    return (
      <section class="held" aria-label="Decision that is held">
        <p>
          “{one.message.words}” at <Line text={one.message.title} /> is sent in {seconds} s.
        </p>
        <button type="button" onClick={undoHeld}>
          Undo <kbd>z</kbd>
        </button>
        <button type="button" class="text" onClick={() => leaveBar(() => void sendHeld())}>
          Send now
        </button>
      </section>
    );
  }
  const last = ended.value;
  if (last === null || (last.isGood && now.value - last.at > shownMs)) return null;
  const { message, words, isGood } = last;
  return (
    <section class={`held ${isGood ? "good" : "bad"}`} aria-label="Last decision">
      <p>
        <a href={gateHref(message.workflow_id, message.gate_id)}>
          <Line text={message.title} />
        </a>
        : <Line text={words} />
      </p>
      <button type="button" class="text" onClick={() => leaveBar(() => (ended.value = null))}>
        Close
      </button>
    </section>
  );
}
