/**
 * A mail as it would be read: who it is from and to, its subject, and its body. The exact text is one button away.
 *
 * 1.  HTML is shown in a frame that runs no script, has no origin, and loads nothing: the policy of the page holds in
 *     it too.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { readMail } from "../../../src/protocol/read-mail.ts";
import { Fact, Facts } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

export function Mail({ text, label }: { readonly text: string; readonly label: string }) {
  const exact = useSignal(false);
  const { headers, body, isHtml } = readMail(text);
  return (
    <div class="mail">
      {exact.value ? (
        <Block text={text} />
      ) : (
        <>
          <Facts>
            {headers.map(({ name, value }) => (
              <Fact key={name} name={name}>
                <Line text={value} />
              </Fact>
            ))}
          </Facts>
          {isHtml ? <Frame html={body} title={label} /> : <Block text={body} />}
        </>
      )}
      <button type="button" class="text" onClick={() => (exact.value = !exact.value)}>
        {exact.value ? "Show it as a mail" : "Show the exact text"}
      </button>
    </div>
  );
}

function Frame({ html, title }: { readonly html: string; readonly title: string }) {
  const address = useSignal<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([html], { type: "text/html;charset=utf-8" }));
    address.value = made;
    return () => URL.revokeObjectURL(made);
  }, [html, address]);
  return address.value === null ? null : <iframe sandbox="" src={address.value} title={title} />;
}
