/**
 * The relay's page: Stately's inspector in a frame, given what the relay tells; or a word on where else to look.
 *
 * P1  Messages go to the frame alone and to its own origin alone; each time that it says it is there, it gets all of them.
 * P2  The page loads nothing, and frames nothing but that one.
 */
import { randomBytes } from "node:crypto";

export interface RelayPage {
  readonly html: string;
  readonly policy: string;
}

export function statelyPage(inspector: string, relay: string): RelayPage {
  const nonce = randomBytes(16).toString("base64");
  const { origin } = new URL(inspector);
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Countersign: inspector</title>
<style nonce="${nonce}">
  html, body { height: 100%; margin: 0; display: flex; flex-direction: column; color-scheme: light dark; }
  p { margin: 0; padding: 4px 8px; font: 13px system-ui, sans-serif; }
  iframe { flex: 1; border: 0; }
</style>
<p>What is inspected goes to the page of ${escapeHtml(origin)} below, in this browser. Without a connection to it, nothing is shown.</p>
<iframe title="Stately inspector" src="${escapeHtml(inspector)}"></iframe>
<script nonce="${nonce}">
  const frame = document.querySelector("iframe");
  const origin = ${JSON.stringify(origin)};
  let socket = null;
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    if (event.data === null || event.data.type !== "@statelyai.connected") return;
    if (socket !== null) socket.close();
    const opened = new WebSocket(${JSON.stringify(relay)});
    socket = opened;
    opened.onmessage = ({ data }) => {
      if (opened === socket) frame.contentWindow.postMessage(JSON.parse(data), origin);
    };
  });
</script>
</html>
`;
  return { html, policy: policyOf(nonce, `connect-src ${relay}; frame-src ${origin}`) };
}

export function ownPage(relay: string): RelayPage {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Countersign: inspector</title>
<p>The feed is at ${escapeHtml(relay)}, a message a frame. To see it without the internet, run <code>countersign serve</code>,
sign in, and open <code>#/inspect</code> there.</p>
</html>
`;
  return { html, policy: policyOf(null, "") };
}

function policyOf(nonce: string | null, more: string): string {
  const own = nonce === null ? [] : [`script-src 'nonce-${nonce}'`, `style-src 'nonce-${nonce}'`];
  const rules = ["default-src 'none'", ...own, more, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];
  return rules.filter((rule) => rule !== "").join("; ");
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (found) => entities[found] as string);
