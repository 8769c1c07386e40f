/** What has been used of what may be used: each ceiling beside the counters that it is held against. */
import type { BudgetStanding } from "../../../src/contract/budget.ts";
import { kernel } from "../api.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";

export function Budgets() {
  const loaded = useLoaded<{ readonly budgets: readonly BudgetStanding[] }>(`${kernel}/budgets`);
  return (
    <>
      <Heading title="Budgets" />
      <Show loaded={loaded}>
        {({ budgets }) =>
          budgets.length === 0 ? (
            <p class="empty">No ceilings are configured: work is not limited over runs.</p>
          ) : (
            budgets.map((budget) => (
              <Budget key={JSON.stringify([budget.scope, budget.window, budget.ceiling])} budget={budget} />
            ))
          )
        }
      </Show>
    </>
  );
}

const fields = [
  ["tokens", "model tokens"],
  ["money", "money"],
  ["invocations", "calls"],
  ["wall_ms", "milliseconds"],
] as const;

const windows = { total: "in all", month: "a month", day: "a day", hour: "an hour" } as const;
const scopes = {
  tenant: "The whole tenant",
  principal: "Each person",
  workflow: "Each run",
  operator: "Each operation",
} as const;

const tellNumber = (n: number): string => n.toLocaleString("en", { maximumFractionDigits: 2 });

function Budget({ budget: { scope, window, since, ceiling, counters, more } }: { readonly budget: BudgetStanding }) {
  const limited = fields.filter(([field]) => ceiling[field] !== undefined);
  const ceilings = limited.map(([field, words]) => `${tellNumber(ceiling[field] ?? 0)} ${words}`).join(", ");
  return (
    <section class="card">
      <h2>
        {scopes[scope]}: {ceilings || "nothing is limited"} {windows[window]}
      </h2>
      {since !== null && <p class="quiet">Counted since {since} (UTC).</p>}
      {counters.length === 0 && <p class="quiet">Nothing has been used yet.</p>}
      <ul class="plain">
        {counters.map(({ counter, id, amounts }) => (
          <li key={counter}>
            {scope !== "tenant" && (
              <p>
                <Line text={String(id)} />
              </p>
            )}
            {limited.map(([field, words]) => (
              <Meter key={field} words={words} used={amounts[field]} most={ceiling[field] ?? 0} />
            ))}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">And {tellNumber(more)} more, which are further from it.</p>}
    </section>
  );
}

/** The use that is nearest to each of these ceilings. */
export const Meters = ({ budgets }: { readonly budgets: readonly BudgetStanding[] }) => (
  <>
    {budgets.flatMap(({ scope, window, ceiling, counters }) =>
      fields
        .filter(([field]) => ceiling[field] !== undefined)
        .map(([field, words]) => (
          <Meter
            key={JSON.stringify([scope, window, field])}
            words={`${words} ${windows[window]}`}
            used={counters[0]?.amounts[field] ?? 0}
            most={ceiling[field] ?? 0}
          />
        )),
    )}
  </>
);

interface MeterProps {
  readonly words: string;
  readonly used: number;
  readonly most: number;
}

function Meter({ words, used, most }: MeterProps) {
  const reported = `${tellNumber(used)} of ${tellNumber(most)} ${words}`;
  return (
    <label class="field">
      <span>
        {reported} {used >= most && <strong class="problem">used up</strong>}
      </span>
      <meter min={0} max={Math.max(most, used, 1)} high={0.8 * most} value={used}>
        {reported}
      </meter>
    </label>
  );
}
