/**
 * Two dialogs of the keyboard: a field that leads to any place, gate or run, and the page of keys.
 *
 * 1.  A dialog gives the focus back to where it was once it closes.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { GatePage, WorkflowPage } from "../../../src/contract/page.ts";
import { ask, kernel } from "../api.ts";
import { holding, switchHolding } from "../held.ts";
import { inboxHref } from "../inbox-query.ts";
import { help, palette, shortcutHelp, shortcuts, switchShortcuts } from "../keys.ts";
import { useSettled } from "../loaded.tsx";
import { mainPlaces, morePlaces } from "../places.ts";
import { gateHref, runHref } from "../route.ts";
import { Line } from "./shown.tsx";

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={close} onKeyDown={(event) => event.key === "Escape" && close()}>
      {children}
    </dialog>
  );
}

export const KeyHelp = () =>
  help.value ? (
    <Dialog title="Keyboard" close={() => (help.value = false)}>
      <h2>Keyboard</h2>
      <p>Tab and Enter reach everything. Single keys are shorter ways; none of them decides.</p>
      <label>
        <input type="checkbox" checked={shortcuts.value} onChange={(e) => switchShortcuts(e.currentTarget.checked)} />
        {" Single-key shortcuts"}
      </label>
      <br />
      <label>
        <input type="checkbox" checked={holding.value} onChange={(e) => switchHolding(e.currentTarget.checked)} />
        {" Hold decisions for some seconds, so that they can be undone"}
      </label>
      <dl class="facts">
        {shortcutHelp.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  ) : null;

interface Found {
  readonly href: string;
  readonly title: string;
  readonly kind: string;
}

const mostFound = 6;

const placesLike = (text: string): readonly Found[] =>
  [...mainPlaces, ...morePlaces]
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .map(({ href, name }) => ({ href, title: name, kind: "page" }));

async function search(text: string): Promise<readonly Found[]> {
  if (text.trim() === "") return [];
  const query = new URLSearchParams({ text: text.trim(), limit: String(mostFound) });
  const [gates, runs] = await Promise.all([
    ask<GatePage>(`${kernel}/gates?sort=due&${query}`),
    ask<WorkflowPage>(`${kernel}/workflows?${query}`),
  ]);
  return [
    ...(gates.ok ? gates.value.gates : []).map(({ workflow_id, gate_id, title }) => ({
      href: gateHref(workflow_id, gate_id),
      title,
      kind: "decision",
    })),
    ...(runs.ok ? runs.value.workflows : []).map(({ workflow_id, title, intent_type }) => ({
      href: runHref(workflow_id),
      title: title || intent_type,
      kind: "run",
    })),
  ];
}

export const Palette = () => (palette.value ? <Finder /> : null);

function Finder() {
  const text = useSignal("");
  const found = useSignal<readonly Found[]>([]);
  const close = () => {
    palette.value = false;
  };
  const look = useSettled(() => {
    const wanted = text.value;
    void search(wanted).then((all) => {
      if (wanted === text.value) found.value = all;
    });
  }, 150);
  const all = [...placesLike(text.value), ...found.value];
  const go = (href: string) => {
    close();
    location.assign(href);
  };
  return (
    <Dialog title="Go to" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go(all[0]?.href ?? inboxHref({ text: text.value }));
        }}
      >
        <input
          type="search"
          aria-label="Go to a page, decision or run"
          placeholder="Go to a page, decision or run"
          maxLength={200}
          value={text.value}
          onInput={(e) => {
            text.value = e.currentTarget.value;
            look();
          }}
        />
      </form>
      <ul class="plain found">
        {all.map(({ href, title, kind }) => (
          <li key={href}>
            <a
              href={href}
              onClick={(event) => {
                event.preventDefault();
                go(href);
              }}
            >
              <Line text={title} /> <small>{kind}</small>
            </a>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
