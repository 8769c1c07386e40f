/** Stand-ins: who is away, now or later, until when and who decides for them; and the form that names one's own. */
import { useSignal } from "@preact/signals";
import type { StandInPage, StandInStanding } from "../../../src/contract/stand-in-orders.ts";
import { announce } from "../announce.ts";
import { ask, isMe, kernel, type Problem } from "../api.ts";
import { now } from "../loaded.tsx";
import { Ago, Fact, Facts, tellZoned } from "../parts/marks.tsx";
import { OrderForm } from "../parts/order-form.tsx";
import { Heading } from "../parts/page.tsx";
import { Paged } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { count, tellPerson } from "../words.ts";

export const Away = () => (
  <>
    <Heading title="Away" />
    <p>Who is away has somebody stand in at gates: their votes count in the place of the one who is away.</p>
    <Paged<StandInPage> list="stand-ins">
      {({ stand_ins }, reload) => (
        <>
          {stand_ins.length === 0 && <p class="empty">Nobody is away.</p>}
          {stand_ins.map((order) => (
            <Standing key={order.stand_in_id} order={order} reload={reload} />
          ))}
          <AwayForm reload={reload} />
        </>
      )}
    </Paged>
  </>
);

interface StandingProps {
  readonly order: StandInStanding;
  readonly reload: () => Promise<void>;
}

function Standing({ order, reload }: StandingProps) {
  const { stand_in_id, by, to, from, until, at, reason, votes } = order;
  return (
    <section class="card" aria-label={stand_in_id}>
      <h2>
        <Line text={`${tellPerson(by)}: ${tellPerson(to)} stands in`} />
      </h2>
      <Facts>
        {Date.parse(from) > now.value && <Fact name="From">{tellZoned(from)}</Fact>}
        <Fact name="Until">{tellZoned(until)}</Fact>
        <Fact name="Reason">
          <Line text={reason} />
        </Fact>
        <Fact name="In the role">
          <code>{by.role}</code>
        </Fact>
        <Fact name="Named">
          <Ago at={at} />
        </Fact>
        <Fact name="Given so far">{count(votes, "vote")}</Fact>
      </Facts>
      <OrderForm
        title={isMe(by) ? "I am back" : "End"}
        of={stand_in_id}
        give={async ({ reason: why }) => {
          const body = { stand_in_id, reason: why };
          const answer = await ask(`${kernel}/end-stand-in`, { method: "POST", body });
          if (answer.ok) announce("The order has ended");
          await reload();
          return answer.ok ? null : answer.problem;
        }}
      >
        <p>No vote is given by this order from then on. Votes that were given stay.</p>
      </OrderForm>
    </section>
  );
}

const dayMs = 86_400_000;
const empty = { to: "", days: "7", reason: "" };
const fields = [
  ["to", "Who stands in (their user id)", 256],
  ["days", "For how many days, at most 90", 4],
  ["reason", "Reason, which everybody sees", 1024],
] as const;

function AwayForm({ reload }: Pick<StandingProps, "reload">) {
  const form = useSignal(empty);
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const { to, days, reason } = form.value;
  const isReady = to.trim() !== "" && reason.trim() !== "" && Number(days) > 0 && Number(days) <= 90 && !isBusy.value;
  const send = async (): Promise<void> => {
    isBusy.value = true;
    const id = /^\d{1,15}$/.test(to.trim()) ? Number(to) : to.trim();
    // A minute less: the clocks of browser and server differ.
    const until = new Date(now.value + Number(days) * dayMs - 60_000).toISOString();
    const body = { to: { type: "user", id }, until, reason: reason.trim() };
    const answer = await ask(`${kernel}/stand-in`, { method: "POST", body });
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) announce("Your stand-in is named");
    if (answer.ok) form.value = empty;
    isBusy.value = false;
    await reload();
  };
  return (
    <form
      class="card"
      aria-label="I am away"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void send();
      }}
    >
      <h2>I am away</h2>
      <p>
        Whoever signs in under exactly this id decides in your place, at all gates where you could and lending is
        allowed. Nobody checks that there is such a user.
      </p>
      {fields.map(([name, label, most]) => (
        <label key={name} class="field">
          <span>{label}</span>
          <input
            type="text"
            maxLength={most}
            value={form.value[name]}
            onInput={(event) => (form.value = { ...form.value, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      <button type="submit" disabled={!isReady}>
        Name my stand-in
      </button>
    </form>
  );
}
