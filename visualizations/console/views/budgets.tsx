/** Budgets: the ceilings with what is used of each, the nearest to its ceiling first, and when counting begins anew. */
import type { BudgetPage, ListedBudget } from "../../../src/contract/budget-page.ts";
import { type LimitedAmount, limitedAmounts, tellLimited, tellWindow } from "../../../src/protocol/budget-words.ts";
import { Ago } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Paged } from "../parts/paged.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";
import { runsHref } from "./runs.tsx";

export const Budgets = () => (
  <>
    <Heading title="Budgets" />
    <p>
      A call that would pass a ceiling is refused, and its run fails: such runs are among the{" "}
      <a href={runsHref({ state: "failed" })}>failed runs</a>, and the page of each names the ceiling.
    </p>
    <Paged<BudgetPage> list="budgets">
      {({ budgets }) =>
        budgets.length === 0 ? (
          <p class="empty">No ceilings are configured: work is not limited over runs.</p>
        ) : (
          <BudgetTable budgets={budgets} />
        )
      }
    </Paged>
  </>
);

const scopes: Readonly<Record<ListedBudget["scope"], string>> = {
  tenant: "the whole tenant",
  principal: "a person",
  workflow: "a run",
  operator: "an operation",
  request: "a request",
  step: "a step",
  model: "a model",
};

const keyOf = ({ position, id }: ListedBudget): string => JSON.stringify([position, id]);

const BudgetTable = ({ budgets }: { readonly budgets: readonly ListedBudget[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
  <section class="scrolls card" tabIndex={0} aria-label="Budgets">
    <table>
      <thead>
        <tr>
          <th scope="col">Ceiling for</th>
          <th scope="col">Which</th>
          <th scope="col">Used</th>
          <th scope="col">Counted</th>
          <th scope="col">Begins anew</th>
        </tr>
      </thead>
      <tbody>
        {budgets.map((budget) => (
          <tr key={keyOf(budget)}>
            <td>{scopes[budget.scope]}</td>
            <td>
              <Which budget={budget} />
            </td>
            <td>
              {limitedAmounts(budget).map((amount) => (
                <Meter key={amount.words} amount={amount} />
              ))}
            </td>
            <td>{tellWindow(budget)}</td>
            <td>{budget.resets_at === null ? "never" : <Ago at={budget.resets_at} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

function Which({ budget: { scope, id, used } }: { readonly budget: ListedBudget }) {
  if (scope === "tenant") return <>all its work</>;
  if (id === null) return <>{used === null ? "each" : "each; none has used anything"}</>;
  return scope === "workflow" ? <a href={runHref(String(id))}>{id}</a> : <Line text={String(id)} />;
}

/** The use of the budgets that are nearest to their ceilings. */
export function Meters({ budgets }: { readonly budgets: readonly ListedBudget[] }) {
  const counted = budgets.filter(({ used }) => used !== null);
  if (counted.length === 0) return <p class="quiet">No ceilings over runs are configured.</p>;
  return (
    <>
      {counted.map((budget) => (
        <div key={keyOf(budget)}>
          <p class="quiet">
            For {scopes[budget.scope]}
            {budget.scope !== "tenant" && budget.id !== null && (
              <>
                {" "}
                (<Line text={String(budget.id)} />)
              </>
            )}
            , {tellWindow(budget)}
          </p>
          {limitedAmounts(budget).map((amount) => (
            <Meter key={amount.words} amount={amount} />
          ))}
        </div>
      ))}
    </>
  );
}

function Meter({ amount }: { readonly amount: LimitedAmount }) {
  const { used, most } = amount;
  const reported = tellLimited(amount);
  if (used === null) return <p>at most {reported}</p>;
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
