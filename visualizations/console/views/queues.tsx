/** Queues: how many runs of a kind may work at a time, how many do, and how many wait for their turn. */
import type { QueueLimitsSet } from "../../../src/contract/queue-limits.ts";
import type { ListedQueue, QueuePage } from "../../../src/contract/queue-page.ts";
import { Ago } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Paged } from "../parts/paged.tsx";
import { Line } from "../parts/shown.tsx";
import { tellEvery, tellPerson } from "../words.ts";

export const Queues = () => (
  <>
    <Heading title="Queues" />
    <p>A queue lets only so many runs work at a time. The others wait for their turn.</p>
    <Paged<QueuePage> list="queues">
      {({ queues }) =>
        queues.length === 0 ? <p class="empty">No run works or waits in a queue.</p> : <QueueTable queues={queues} />
      }
    </Paged>
  </>
);

const QueueTable = ({ queues }: { readonly queues: readonly ListedQueue[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
  <section class="scrolls card" tabIndex={0} aria-label="Queues">
    <table>
      <thead>
        <tr>
          <th scope="col">Queue</th>
          <th scope="col">Key</th>
          <th scope="col">At work</th>
          <th scope="col">Waiting</th>
          <th scope="col">Oldest waits since</th>
          <th scope="col">Limits set by a person</th>
        </tr>
      </thead>
      <tbody>
        {queues.map(({ name, key, running, concurrency, waiting, oldest_waiting, set }) => (
          <tr key={JSON.stringify([name, key])}>
            <td>
              <Line text={name} />
            </td>
            <td>{key === "" ? "none" : <Line text={key} />}</td>
            <td>
              {running} of {concurrency}
            </td>
            <td>{waiting}</td>
            <td>{oldest_waiting === null ? "none waits" : <Ago at={oldest_waiting} />}</td>
            <td class="wraps">{set === null ? "none" : <Limits set={set} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

const Limits = ({ set: { concurrency, rate, by, at, reason } }: { readonly set: QueueLimitsSet }) => (
  <>
    {[
      ...(concurrency === undefined ? [] : [`${concurrency} at a time`]),
      ...(rate === undefined ? [] : [rate === null ? "any pace" : tellRate(rate)]),
    ].join(", ")}
    , by {tellPerson(by)}, <Ago at={at} />: <Line text={reason} />
  </>
);

const tellRate = ({ limit, per_ms }: { readonly limit: number; readonly per_ms: number }): string =>
  `at most ${limit.toLocaleString("en")} begin within ${tellEvery(per_ms)}`;
