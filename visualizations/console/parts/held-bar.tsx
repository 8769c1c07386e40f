/**
 * What is held: what is sent, when, and the buttons that undo it or send it now; then what came of it.
 *
 * 1.  On a narrow page it stands in the page, above its content or beside the buttons that it is about, and never over
 *     anything. Nothing there moves by itself: what came of it stays until one leaves the page or closes it.
 */
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { ended, held, sendHeld, tellHeld, undoHeld } from "../held.ts";
import { now } from "../loaded.tsx";
import { gateHref, route } from "../route.ts";
import { isWide } from "../wide.ts";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

/** How long good ends are shown on a wide page; any other stays until it is closed. */
const shownMs = 10_000;

/** The notes in the page that say what is held. */
const notes = signal(0);

/** Does what a button of the bar says, which then is gone: the focus goes to the heading of what is open. */
function leaveBar(act: () => void): void {
  act();
  const heading = document.querySelector<HTMLElement>("#detail h1") ?? document.querySelector<HTMLElement>("h1");
  heading?.focus();
}

const HeldButtons = () => (
  <>
    <button type="button" onClick={undoHeld}>
      Undo <kbd>z</kbd>
    </button>
    <button type="button" class="text" onClick={() => leaveBar(() => void sendHeld())}>
      Send now
    </button>
  </>
);

/** Says beside the buttons that gave it that an answer is held; on a narrow page in place of the bar. */
export function HeldNote({ words }: { readonly words: string }) {
  // Before the page is painted: the bar is never seen beside the note.
  useLayoutEffect(() => {
    notes.value += 1;
    return () => {
      notes.value -= 1;
    };
  }, []);
  return (
    <div class="note wait">
      <p>{words}</p>
      {!isWide.value && (
        <p class="row">
          <HeldButtons />
        </p>
      )}
    </div>
  );
}

export function HeldBar() {
  const one = held.value;
  if (one !== null) {
    if (!isWide.value && notes.value > 0) return null;
    const seconds = Math.max(0, Math.ceil((one.until - now.value) / 1000));
    return (
      <section class="held" aria-label="Decision that is held">
        <p>
          <Line text={tellHeld(one.messages)} /> is sent in {seconds} s.
        </p>
        <HeldButtons />
      </section>
    );
  }
  return <EndedBar />;
}

function EndedBar() {
  const last = ended.value;
  if (last === null) return null;
  const { messages, words, isGood, at, place } = last;
  const [first] = messages;
  const href = first === undefined || messages.length > 1 ? null : gateHref(first.workflow_id, first.gate_id);
  const here = route.value;
  const isOwn = here.view === "gate" && gateHref(here.workflow, here.gate) === href;
  const isOver = isWide.value ? isGood && now.value - at > shownMs : isOwn || place !== location.hash;
  if (isOver) return null;
  return (
    <section class={`held ${isGood ? "good" : "bad"}`} aria-label="Last decision">
      <p>
        {href === null ? (
          count(messages.length, "decision")
        ) : (
          <a href={href}>
            <Line text={first?.title ?? ""} />
          </a>
        )}
        : <Line text={words} />
      </p>
      <button type="button" class="text" onClick={() => leaveBar(() => (ended.value = null))}>
        Close
      </button>
    </section>
  );
}
