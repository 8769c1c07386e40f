/**
 * The facts of a call for the person who decides on it, then every member of its payload that they do not show, and the
 * exact payload behind a fold.
 *
 * 1.  Each value of the payload is shown once, unfolded, before the JSON: as a fact, in the preview, or by its path.
 */
import type { Gate } from "../../../src/contract/gate.ts";
import type { PresentedFact } from "../../../src/contract/present.ts";
import { type HiddenField, listOtherFields } from "../../../src/protocol/hidden-fields.ts";
import { labelOf, tellFact } from "../../../src/protocol/present-facts.ts";
import { FoldedLines } from "./folded.ts";
import { Mail } from "./mail.tsx";
import { Markdown } from "./markdown.tsx";
import { Fact, Facts } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

export function CallFacts({ gate, title }: { readonly gate: Gate; readonly title: string }) {
  const { facts = [], summary, payload, preview } = gate;
  const others = listOtherFields(payload, { facts, preview });
  if (facts.length === 0 && others.length === 0 && summary === undefined) return null;
  return (
    <section class="card">
      <h2>{title}</h2>
      {summary !== undefined && (
        <p class="summary">
          <Line text={summary} />
        </p>
      )}
      <Facts>
        {facts.map((fact, at) => (
          <Fact key={at} name={fact.label} about={fact.about}>
            <FactValue fact={fact} />
          </Fact>
        ))}
      </Facts>
      {others.length > 0 && <OtherFields fields={others} isOnly={facts.length === 0} />}
    </section>
  );
}

/** The members of the payload that neither a fact nor the preview shows. */
export const OtherFields = ({
  fields,
  isOnly,
}: {
  readonly fields: readonly HiddenField[];
  readonly isOnly: boolean;
}) => (
  <>
    {!isOnly && <h3>Also in the payload</h3>}
    <Facts>
      {fields.map(({ path, value }) => (
        <Fact key={path} name={/[.[]/.test(path) ? path : labelOf(path)}>
          {typeof value === "string" && (value.length > 120 || value.includes("\n")) ? (
            <Block text={value} />
          ) : (
            <Line text={typeof value === "string" ? value : JSON.stringify(value)} />
          )}
        </Fact>
      ))}
    </Facts>
  </>
);

const day = new Intl.DateTimeFormat("en", { dateStyle: "full", timeZone: "UTC" });
const isDay = /^\d{4}-\d\d-\d\d$/;

function FactValue({ fact }: { readonly fact: PresentedFact }) {
  const { format, value } = fact;
  if (Array.isArray(value))
    return (
      <ul class="plain">
        {value.map((item, at) => (
          <li key={at}>
            <Line text={item} />
          </li>
        ))}
      </ul>
    );
  if (typeof value === "number")
    return (
      <strong class="money">
        <Line text={tellFact(fact)} />
      </strong>
    );
  if (format === "markdown") return <Markdown text={value} />;
  if (format === "mail") return <Mail text={value} label={fact.label} />;
  if (format === "pdf" && value.startsWith("data:"))
    return (
      <a class="button" href={value} download={`${fact.label}.pdf`}>
        Save the PDF
      </a>
    );
  if (format === "image") return <img class="shown" src={value} alt={fact.label} />;
  if ((format === "link" || format === "pdf") && /^https?:\/\//.test(value))
    return (
      <a href={value} target="_blank" rel="noopener noreferrer">
        <Line text={value} />
      </a>
    );
  if (format === "date" && isDay.test(value) && !Number.isNaN(Date.parse(value)))
    return (
      <>
        <Line text={value} /> <small>({day.format(new Date(value))})</small>
      </>
    );
  return <Line text={value} />;
}

/** The exact bytes of what is decided on, and what they are bound to. */
export const ExactPayload = ({
  gate,
  title,
  text,
}: {
  readonly gate: Gate;
  readonly title: string;
  readonly text: string;
}) => (
  <details class="card more">
    <summary>{title}</summary>
    <FoldedLines.Provider value={null}>
      <Block text={text} />
    </FoldedLines.Provider>
    <p class="quiet bound">
      An answer is bound to exactly this, by its digest <code>{gate.payload_digest}</code>
    </p>
  </details>
);
