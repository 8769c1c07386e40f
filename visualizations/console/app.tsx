/**
 * The frame of every view: the navigation, the person, the state of the connection, and the announcements.
 *
 * 1.  A session that is about to end is announced a minute before; one button extends it.
 */
import { useEffect, useRef } from "preact/hooks";
import { announcement } from "./announce.ts";
import { readSession, session, sessionEnd, sessionProblem, signOut } from "./api.ts";
import { sendHeld } from "./held.ts";
import { help } from "./keys.ts";
import { link, openFeed } from "./live.ts";
import { now } from "./loaded.tsx";
import { notifying, switchNotifying, watchNotifications } from "./notify.ts";
import { HeldBar } from "./parts/held-bar.tsx";
import { Heading } from "./parts/page.tsx";
import { KeyHelp, Palette } from "./parts/palette.tsx";
import { ProblemNote } from "./parts/problem.tsx";
import { UnsentAnswers } from "./parts/unsent-notes.tsx";
import { mainPlaces, morePlaces, type Place } from "./places.ts";
import { gateHref, type Route, returnToPlace, route } from "./route.ts";
import { Away } from "./views/away.tsx";
import { Budgets } from "./views/budgets.tsx";
import { Compare } from "./views/compare.tsx";
import { Decisions } from "./views/decisions.tsx";
import { Explain } from "./views/explain.tsx";
import { GateView } from "./views/gate.tsx";
import { Grants } from "./views/grants.tsx";
import { Halts } from "./views/halts.tsx";
import { Home } from "./views/home.tsx";
import { Inbox } from "./views/inbox.tsx";
import { Inspect } from "./views/inspect.tsx";
import { Queues } from "./views/queues.tsx";
import { Run } from "./views/run.tsx";
import { Runs } from "./views/runs.tsx";
import { Schedules } from "./views/schedules.tsx";
import { SignIn } from "./views/sign-in.tsx";
import { Start } from "./views/start.tsx";
import { Timeline } from "./views/timeline.tsx";
import { WhatIf } from "./views/what-if.tsx";
import { waiting, watchWaiting } from "./waiting.ts";
import { isWide } from "./wide.ts";
import { tellPerson } from "./words.ts";

export function App() {
  const who = session.value;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Bar />
      {who != null && <EndingSoon />}
      {who != null && !isWide.value && <HeldBar />}
      <main id="main" tabIndex={-1}>
        {who === undefined ? <Starting /> : who === null ? <SignIn /> : <SignedIn />}
      </main>
      {who != null && <Foot />}
      {who != null && isWide.value && <HeldBar />}
      {who != null && <Palette />}
      {who != null && <KeyHelp />}
      <div class="unseen" role="status">
        {announcement}
      </div>
    </>
  );
}

/** The page does not know yet who is signed in, or could not ask. */
function Starting() {
  const problem = sessionProblem.value;
  if (problem === null) return <p class="quiet">Loading…</p>;
  return (
    <>
      <Heading title="The page could not find out who is signed in" />
      <ProblemNote problem={problem}>
        <button type="button" onClick={() => void readSession()}>
          Try again
        </button>
      </ProblemNote>
    </>
  );
}

function SignedIn() {
  useEffect(() => {
    returnToPlace();
    const ends = [openFeed(), watchWaiting(), watchNotifications()];
    return () => {
      for (const end of ends) end();
    };
  }, []);
  const at = route.value;
  // The page of a gate says it of its own gate.
  const own = at.view === "gate" ? gateHref(at.workflow, at.gate) : null;
  return (
    <>
      <UnsentAnswers isChosen={(gate) => gate !== own} />
      <View at={at} />
    </>
  );
}

/** A view is made anew for another workflow or gate. */
function View({ at }: { readonly at: Route }) {
  switch (at.view) {
    case "inbox":
      return <Inbox />;
    case "gate":
      return <GateView key={`${at.workflow}/${at.gate}`} workflow={at.workflow} gate={at.gate} />;
    case "run":
      return <Run key={at.workflow} workflow={at.workflow} at={at.at} />;
    case "time":
      return <Timeline key={at.workflow} workflow={at.workflow} />;
    case "why":
      return <Explain key={at.workflow} workflow={at.workflow} at={at.at} />;
    case "home":
      return <Home />;
    case "runs":
      return <Runs />;
    case "start":
      return <Start />;
    case "what-if":
      return <WhatIf />;
    case "budgets":
      return <Budgets />;
    case "queues":
      return <Queues />;
    case "schedules":
      return <Schedules />;
    case "decisions":
      return <Decisions />;
    case "grants":
      return <Grants />;
    case "away":
      return <Away />;
    case "halts":
      return <Halts />;
    case "compare":
      return <Compare key={`${at.workflow}/${at.other}`} one={at.workflow} other={at.other} />;
    case "inspect":
      return <Inspect key={at.workflow} workflow={at.workflow} />;
    default:
      return <Unknown />;
  }
}

const Unknown = () => (
  <>
    <Heading title="There is no such page" />
    <p>
      Perhaps the link is incomplete. <a href="#/">Go to the inbox.</a>
    </p>
  </>
);

function Bar() {
  const who = session.value;
  return (
    <header class="bar">
      <span class="brand">Countersign</span>
      {who != null && <Places />}
      {who != null && (
        <p class="who">
          <LinkMark />
          {isWide.value && <Who />}
        </p>
      )}
    </header>
  );
}

/** The places that everybody needs, and the others behind one word. */
function Places() {
  const { view } = route.value;
  const menu = useRef<HTMLDetailsElement>(null);
  const isAt = ({ views }: Place): boolean => views.includes(view);
  const [main, more] = isWide.value
    ? [mainPlaces, morePlaces]
    : [mainPlaces.slice(0, 2), [...mainPlaces.slice(2), ...morePlaces]];
  const here = more.find(isAt);
  // A place that was chosen closes the menu.
  useEffect(() => {
    if (menu.current !== null) menu.current.open = false;
  }, [view]);
  return (
    <nav aria-label="Console">
      {main.map((place) => (
        <PlaceLink key={place.href} place={place} isHere={isAt(place)} />
      ))}
      <details class="menu" ref={menu}>
        <summary class={here === undefined ? undefined : "here"}>More</summary>
        <div>
          {more.map((place) => (
            <PlaceLink key={place.href} place={place} isHere={isAt(place)} />
          ))}
          {!isWide.value && (
            <p class="who">
              <Who />
            </p>
          )}
        </div>
      </details>
    </nav>
  );
}

const PlaceLink = ({ place: { href, name }, isHere }: { readonly place: Place; readonly isHere: boolean }) => (
  <a href={href} aria-current={isHere ? "page" : undefined}>
    {name}
    {name === "Inbox" && !!waiting.value && <Waiting n={waiting.value} />}
  </a>
);

function Who() {
  const who = session.value;
  if (who == null) return null;
  return (
    <>
      <span>
        {tellPerson(who.principal)} <small>({who.principal.role})</small>
      </span>
      {who.via === "session" && (
        <button type="button" class="text" onClick={() => void sendHeld().then(signOut)}>
          Sign out
        </button>
      )}
    </>
  );
}

const Waiting = ({ n }: { readonly n: number }) => (
  <>
    {" "}
    <span class="badge">
      {n > 999 ? "999+" : n}
      <span class="unseen"> waiting</span>
    </span>
  </>
);

const linkWords = { live: "live", connecting: "connecting…", waiting: "not connected, trying again…" } as const;
const LinkMark = () => <span class={`link ${link.value}`}>{linkWords[link.value]}</span>;

const lastMinuteMs = 60_000;

function EndingSoon() {
  const end = sessionEnd.value;
  const isSoon = end !== null && end - now.value <= lastMinuteMs;
  const isOver = end !== null && end <= now.value;
  // Asked once more: other pages may have put the end off.
  useEffect(() => {
    if (isOver) void readSession();
  }, [isOver]);
  if (!isSoon || isOver) return null;
  return (
    <div class="note wait banner" role="alert">
      <p>You will be signed out in less than a minute.</p>
      <button type="button" onClick={() => void readSession()}>
        Stay signed in
      </button>
    </div>
  );
}

const Foot = () => (
  <footer>
    <button type="button" class="text" onClick={() => (help.value = true)}>
      Keyboard
    </button>
    <NotifyButton />
    <a href="/guide">Guide</a>
  </footer>
);

/** The button by which one asks to be notified, where the browser can. */
function NotifyButton() {
  const state = notifying.value;
  if (state === "none") return null;
  if (state === "denied") return <span class="quiet">This browser blocks notifications</span>;
  return (
    <button
      type="button"
      class="text"
      aria-pressed={state === "on"}
      onClick={() => void switchNotifying(state === "off")}
    >
      Notify me
    </button>
  );
}
