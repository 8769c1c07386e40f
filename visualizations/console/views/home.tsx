/** What needs somebody now: decisions, failures, runs that stand still, queues, spend, and halts. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { BudgetPage } from "../../../src/contract/budget-page.ts";
import type { HaltStanding } from "../../../src/contract/halt.ts";
import type { GatePage, WorkflowPage } from "../../../src/contract/page.ts";
import type { QueuePage } from "../../../src/contract/queue-page.ts";
import type { StandInPage } from "../../../src/contract/stand-in-orders.ts";
import { kernel } from "../api.ts";
import { inboxHref } from "../inbox-query.ts";
import { followFeed } from "../live.ts";
import { type Loaded, now, Show, useLoaded, useSettled } from "../loaded.tsx";
import { Ago, Due, tellInstant } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";
import { gateHref, runHref } from "../route.ts";
import { tellPerson } from "../words.ts";
import { Meters } from "./budgets.tsx";
import { atWork, runsHref } from "./runs.tsx";

const shown = 5;
const dayMs = 86_400_000;
/** Returns a day before today, in UTC. */
const dayOf = (daysAgo: number): string => new Date(now.peek() - daysAgo * dayMs).toISOString().slice(0, 10);

const page = `limit=${shown}&total=true`;

/** Returns the days that the page counts from, today's because it may stay open for long, and what it asks for. */
function questionsOfToday() {
  const [failedSince, begunBefore] = [dayOf(7), dayOf(1)];
  return {
    failedSince,
    begunBefore,
    waiting: `${kernel}/gates?mine=true&snoozed=false&sort=due&${page}`,
    assigned: `${kernel}/gates?assigned=me&snoozed=false&sort=due&${page}`,
    failed: `${kernel}/workflows?state=failed&since=${failedSince}&${page}`,
    still: `${kernel}/workflows?state=${atWork}&until=${begunBefore}&sort=oldest&${page}`,
    queues: `${kernel}/queues?limit=${shown}`,
    budgets: `${kernel}/budgets?limit=3`,
    halts: `${kernel}/halts`,
    away: `${kernel}/stand-ins?limit=${shown}`,
  };
}

export function Home() {
  const { failedSince, begunBefore, ...paths } = questionsOfToday();
  const waiting = useLoaded<GatePage>(paths.waiting);
  const assigned = useLoaded<GatePage>(paths.assigned);
  const failed = useLoaded<WorkflowPage>(paths.failed);
  const still = useLoaded<WorkflowPage>(paths.still);
  const queues = useLoaded<QueuePage>(paths.queues);
  const budgets = useLoaded<BudgetPage>(paths.budgets);
  const halts = useLoaded<{ readonly halts: readonly HaltStanding[] }>(paths.halts);
  const away = useLoaded<StandInPage>(paths.away);
  const all: readonly Pick<Loaded<unknown>, "reload">[] = [
    ...[waiting, assigned, failed, still, queues, budgets, halts, away],
  ];
  const reload = useSettled(() => void Promise.all(all.map((one) => one.reload())), 2000);
  useEffect(() => followFeed(reload), [reload]);
  return (
    <>
      <Heading title="Home" />
      <div class="home">
        <Tile title="Waiting for you" href="#/" loaded={waiting}>
          {(found) => <GateItems page={found} none="Nothing waits for you." />}
        </Tile>
        <Tile title="Yours to look after" href={inboxHref({ show: "assigned" })} loaded={assigned}>
          {(found) => <GateItems page={found} none="You look after no gate." />}
        </Tile>
        <Tile title="Failed in the last week" href={runsHref({ state: "failed", since: failedSince })} loaded={failed}>
          {(found) => <RunItems page={found} none="Nothing has failed." />}
        </Tile>
        <Tile
          title="At work for more than a day"
          href={runsHref({ state: atWork, until: begunBefore, sort: "oldest" })}
          loaded={still}
        >
          {(found) => <RunItems page={found} none="No run stands still." />}
        </Tile>
        <Tile title="Stopped work" href="#/halts" loaded={halts}>
          {({ halts: set }) => (
            <Few n={set.length} none="Nothing is stopped.">
              {set.slice(0, shown).map(({ halt_id, reason, at }) => (
                <Item key={halt_id} href="#/halts" title={reason}>
                  <Ago at={at} />
                </Item>
              ))}
            </Few>
          )}
        </Tile>
        <Tile title="Away" href="#/away" loaded={away}>
          {(found) => <AwayItems page={found} />}
        </Tile>
        <Tile title="Queues" href="#/queues" loaded={queues}>
          {(found) => <QueueItems page={found} />}
        </Tile>
        <Tile title="Spend" href="#/budgets" loaded={budgets}>
          {(found) => <Meters budgets={found.budgets} />}
        </Tile>
      </div>
    </>
  );
}

const AwayItems = ({ page: { stand_ins: orders, next } }: { readonly page: StandInPage }) => (
  <Few n={orders.length} isMore={next !== null} none="Nobody is away.">
    {orders.map(({ stand_in_id, by, to, until }) => (
      <Item key={stand_in_id} href="#/away" title={`${tellPerson(by)}: ${tellPerson(to)} stands in`}>
        until {tellInstant(until)}
      </Item>
    ))}
  </Few>
);

interface TileProps<T> {
  readonly title: string;
  readonly href: string;
  readonly loaded: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}

const Tile = <T,>({ title, href, loaded, children }: TileProps<T>) => (
  <section class="card tile">
    <h2>
      <a href={href}>{title}</a>
    </h2>
    <Show loaded={loaded}>{children}</Show>
  </section>
);

interface FewProps {
  readonly n: number;
  readonly isMore?: boolean;
  /** What is said where there is nothing. */
  readonly none: string;
  readonly children: ComponentChildren;
}

/** A number, and the first of what it counts. */
const Few = ({ n, isMore = false, none, children }: FewProps) =>
  n === 0 ? (
    <p class="quiet">{none}</p>
  ) : (
    <>
      <p class="figure">
        {n.toLocaleString("en")}
        {isMore && "+"}
      </p>
      <ul class="plain">{children}</ul>
    </>
  );

interface ItemProps {
  readonly href: string;
  readonly title: string;
  readonly children: ComponentChildren;
}

const Item = ({ href, title, children }: ItemProps) => (
  <li class="tile-item">
    <a href={href} data-item title={title}>
      <Line text={title} />
    </a>
    <small>{children}</small>
  </li>
);

const QueueItems = ({ page: { queues, next } }: { readonly page: QueuePage }) => (
  <Few n={queues.length} isMore={next !== null} none="No run works or waits in a queue.">
    {queues.map(({ name, key, running, concurrency, waiting }) => (
      <Item key={JSON.stringify([name, key])} href="#/queues" title={key === "" ? name : `${name}, ${key}`}>
        {running} of {concurrency} at work, {waiting} waiting
      </Item>
    ))}
  </Few>
);

const GateItems = ({ page: { gates, total = 0 }, none }: { readonly page: GatePage; readonly none: string }) => (
  <Few n={total} none={none}>
    {gates.map(({ workflow_id, gate_id, title, due_at, opened_at }) => (
      <Item key={workflow_id + gate_id} href={gateHref(workflow_id, gate_id)} title={title}>
        {due_at === null ? <Ago at={opened_at} /> : <Due at={due_at} />}
      </Item>
    ))}
  </Few>
);

const RunItems = ({ page: { workflows, total = 0 }, none }: { readonly page: WorkflowPage; readonly none: string }) => (
  <Few n={total} none={none}>
    {workflows.map(({ workflow_id, title, intent_type, updated_at }) => (
      <Item key={workflow_id} href={runHref(workflow_id)} title={title || intent_type}>
        <Ago at={updated_at} />
      </Item>
    ))}
  </Few>
);
