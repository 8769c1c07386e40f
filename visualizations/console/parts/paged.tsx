/** A list of the server that comes in pages, kept up to date while work goes on. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { kernel } from "../api.ts";
import { followFeed } from "../live.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { Pager } from "./pager.tsx";

interface PagedProps<P> {
  /** The word of the list in its address. */
  readonly list: string;
  readonly children: (page: P, reload: () => Promise<void>) => ComponentChildren;
}

export function Paged<P extends { readonly next: string | null }>({ list, children }: PagedProps<P>) {
  const after = useSignal<readonly string[]>([]);
  const last = after.value.at(-1);
  const loaded = useLoaded<P>(
    `${kernel}/${list}${last === undefined ? "" : `?${new URLSearchParams({ after: last })}`}`,
  );
  const reload = useSettled(() => void loaded.reload(), 1000);
  useEffect(() => followFeed(reload), [reload]);
  return (
    <Show loaded={loaded}>
      {(page) => (
        <>
          {children(page, loaded.reload)}
          <Pager after={after} next={page.next} words={["Back", "More"]} />
        </>
      )}
    </Show>
  );
}
