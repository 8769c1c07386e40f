/** For who is not known: how to get in. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Heading } from "../parts/page.tsx";
import { keepPlace } from "../route.ts";

export function SignIn() {
  const wrong = useSignal(false);
  const text = useSignal("");
  useEffect(keepPlace, []);
  const go = () => {
    const path = readLink(text.value.trim());
    wrong.value = path === null;
    if (path !== null) location.assign(path);
  };
  return (
    <div class="narrow">
      <Heading title="Sign in" />
      <p class="lede">You are not signed in, or your session has ended.</p>
      <p>
        A link that signs you in is printed where the server was started, as <code>console http://…/login?code=…</code>.
        Open it in this browser. Each link works once, and for a few minutes.
      </p>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          go();
        }}
      >
        <label class="field">
          <span>Or paste the link here</span>
          <input
            value={text.value}
            autocomplete="off"
            spellcheck={false}
            aria-invalid={wrong.value}
            onInput={(e) => {
              text.value = e.currentTarget.value;
            }}
          />
        </label>
        {wrong.value && (
          <p class="problem" role="alert">
            This is no link of this server. It ends with /login?code= and 43 letters and digits.
          </p>
        )}
        <button type="submit" class="primary">
          Go on
        </button>
      </form>
    </div>
  );
}

/** The path to open; null for what is no login link of this host. */
export function readLink(text: string): string | null {
  const code = /^[\w-]{43}$/.test(text) ? text : codeOf(text);
  return code === null ? null : `/login?code=${code}`;
}

function codeOf(text: string): string | null {
  if (!URL.canParse(text, location.origin)) return null;
  const { origin, pathname, searchParams } = new URL(text, location.origin);
  const code = searchParams.get("code") ?? "";
  return origin === location.origin && pathname === "/login" && /^[\w-]{43}$/.test(code) ? code : null;
}
