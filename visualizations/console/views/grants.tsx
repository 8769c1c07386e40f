/** Grants: approvals that people gave ahead, with their conditions and what was used of them. Each can be revoked. */
import type { GrantPage, GrantStanding, GrantTest } from "../../../src/contract/grant-orders.ts";
import { announce } from "../announce.ts";
import { ask, kernel } from "../api.ts";
import { Ago, Fact, Facts, tellInstant } from "../parts/marks.tsx";
import { OrderForm } from "../parts/order-form.tsx";
import { Heading } from "../parts/page.tsx";
import { Paged } from "../parts/paged.tsx";
import { Line } from "../parts/shown.tsx";
import { gateHref, runHref } from "../route.ts";
import { count, spaced, tellPerson } from "../words.ts";

export const Grants = () => (
  <>
    <Heading title="Grants" />
    <p>A grant approves calls ahead: they run without asking anybody, as long as they meet its conditions.</p>
    <Paged<GrantPage> list="grants">
      {({ grants }, reload) =>
        grants.length === 0 ? (
          <p class="empty">Nothing is approved ahead.</p>
        ) : (
          grants.map((grant) => <Standing key={grant.grant_id} grant={grant} reload={reload} />)
        )
      }
    </Paged>
  </>
);

interface StandingProps {
  readonly grant: GrantStanding;
  readonly reload: () => Promise<void>;
}

function Standing({ grant, reload }: StandingProps) {
  const { grant_id, operator, capability, workflow_id, gate_id, when = [], by, at, reason, until } = grant;
  return (
    <section class="card" aria-label={grant_id}>
      <h2>
        Calls of <Line text={operator} />
      </h2>
      <Facts>
        <Fact name="Work">
          <code>{capability}</code>
        </Fact>
        <Fact name="Given by">
          {tellPerson(by)}, <Ago at={at} />, at <a href={gateHref(workflow_id, gate_id)}>{gate_id}</a>
        </Fact>
        {reason !== "" && (
          <Fact name="Reason">
            <Line text={reason} />
          </Fact>
        )}
        <Fact name="Only if">{when.length === 0 ? "any values" : <Line text={when.map(tellTest).join("; ")} />}</Fact>
        <Fact name="Until">
          {until !== undefined ? (
            tellInstant(until)
          ) : (
            <>
              the end of the run <a href={runHref(workflow_id)}>{workflow_id}</a>
            </>
          )}
        </Fact>
        <Fact name="Used">{tellUsed(grant)}</Fact>
      </Facts>
      <OrderForm
        title="Revoke"
        of={grant_id}
        give={async ({ reason: why }) => {
          const body = { grant_id, reason: why };
          const answer = await ask(`${kernel}/revoke-grant`, { method: "POST", body });
          if (answer.ok) announce("The grant is revoked");
          await reload();
          return answer.ok ? null : answer.problem;
        }}
      >
        <p>Later calls ask a person again. Calls that were approved stay approved.</p>
      </OrderForm>
    </section>
  );
}

const tellValue = (value: unknown): string => (typeof value === "string" ? `“${value}”` : JSON.stringify(value));

/** Returns a condition in words: `cents is at most 5000 and above 0`. */
function tellTest({ value, ...tests }: GrantTest): string {
  const words = Object.entries(tests).map(([test, limit]) => {
    if (test === "exists") return limit === true ? "given" : "not given";
    if (test === "one_of") return `one of ${(limit as readonly unknown[]).map(tellValue).join(", ")}`;
    return test === "equals" ? tellValue(limit) : `${spaced(test)} ${tellValue(limit)}`;
  });
  return `${value} is ${words.join(" and ")}`;
}

function tellUsed({ uses, money, used }: GrantStanding): string {
  const calls = `${count(used.uses, "call")}${uses === undefined ? "" : ` of ${uses.toLocaleString("en")}`}`;
  const cost = used.money.toLocaleString("en");
  return money === undefined ? calls : `${calls}, ${cost} of ${money.toLocaleString("en")} of estimated cost`;
}
