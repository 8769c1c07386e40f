/**
 * Real receivers on this machine: an HTTP server that answers as a test wants, and an SMTP server.
 * Owns: what they were sent. Never: asserts anything.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export interface HttpPosted {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What was sent to a receiver, and the next of it. */
export class Inbox<T> {
  readonly items: T[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: T): void {
    this.items.push(item);
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when there are so many. */
  async count(n: number): Promise<readonly T[]> {
    await this.until(() => this.items.length >= n);
    return this.items;
  }

  /** Resolves when one of them is it. */
  async until(isIt: (item: T) => boolean): Promise<void> {
    while (!this.items.some(isIt))
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
  }
}

export interface Receiver<T> extends AsyncDisposable {
  readonly port: number;
  readonly inbox: Inbox<T>;
}

type Answer = (response: ServerResponse, posted: HttpPosted) => void;

/** Answers 204 where nothing is said. What `answer` does not end hangs. */
export async function receiveHttp(
  answer: Answer = (response) => void response.writeHead(204).end(),
  port = 0,
): Promise<Receiver<HttpPosted>> {
  const inbox = new Inbox<HttpPosted>();
  const server = createServer(async (request, response) => {
    const posted = { path: request.url ?? "", headers: request.headers, body: await text(request) };
    inbox.add(posted);
    answer(response, posted);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    inbox,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export interface MailReceived {
  readonly raw: string;
  readonly to: readonly string[];
  readonly mail: ParsedMail;
}

export async function receiveMail(more: SMTPServerOptions = {}, port = 0): Promise<Receiver<MailReceived>> {
  const inbox = new Inbox<MailReceived>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, session, done) {
      void buffer(stream).then(async (bytes) => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        inbox.add({ raw: bytes.toString("utf8"), to, mail: await simpleParser(bytes) });
        done();
      });
    },
    ...more,
  });
  server.on("error", () => undefined);
  const listening = server.listen(port, "127.0.0.1");
  await once(listening, "listening");
  return {
    port: (listening.address() as AddressInfo).port,
    inbox,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
