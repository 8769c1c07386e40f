/**
 * The addresses that are notified of tasks, whose credentials are encrypted in the store: who reads a ledger's file, or
 * a copy of it, can post to none of them.
 *
 * 1.  The credentials are a JWE (`dir`, `A256GCM`) under a key that follows from a secret by which notifications are
 *     signed. With several secrets the first encrypts, and each decrypts, so that one can be replaced.
 * 2.  They are sealed with the key and the address of their record, and fit no other.
 * 3.  An address whose credentials no secret opens is left where it is, and is notified of nothing.
 */
import { hkdfSync } from "node:crypto";
import { CompactEncrypt, compactDecrypt } from "jose";
import type { Logger, PushRecord, PushStore } from "../../../index.ts";
import type { WebhookSecrets } from "../../../observers/notifiers/standard-webhooks.ts";

interface Credentials {
  readonly token: string;
  readonly authentication?: { readonly scheme: string; readonly credentials: string } | undefined;
}

interface Sealed extends Credentials, Pick<PushRecord, "key" | "url"> {}

/** An address with its credentials as the client gave them. */
export interface NotifiedAddress extends Omit<PushRecord, "sealed">, Credentials {}

export interface NotifiedAddresses {
  readonly keep: (address: NotifiedAddress) => Promise<void>;
  readonly list: () => Promise<readonly NotifiedAddress[]>;
  readonly drop: PushStore["drop"];
}

export interface Sealing {
  readonly store: PushStore;
  readonly secret: WebhookSecrets;
  readonly logger?: Pick<Logger, "warn"> | undefined;
}

const keyOf = (secret: Uint8Array): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "countersign", "credentials of notified addresses", 32));

/** Returns the addresses of a store. */
export function sealedPushes({ store, secret, logger }: Sealing): NotifiedAddresses {
  const keys = secret.map(keyOf) as [Uint8Array, ...Uint8Array[]];
  return {
    async keep({ token, authentication, ...address }) {
      const text = JSON.stringify({ key: address.key, url: address.url, token, authentication });
      const sealing = new CompactEncrypt(new TextEncoder().encode(text));
      const sealed = await sealing.setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(keys[0]);
      await store.keep({ ...address, sealed });
    },
    async list() {
      const opened = await Promise.all((await store.list()).map((record) => open(record, keys)));
      const lost = opened.filter((address) => address === null).length;
      if (lost > 0) logger?.warn({ lost }, "notified addresses are left out: no secret opens their credentials");
      return opened.filter((address) => address !== null);
    },
    drop: store.drop,
  };
}

async function open({ sealed, ...record }: PushRecord, keys: readonly Uint8Array[]): Promise<NotifiedAddress | null> {
  for (const secret of keys) {
    const opened = await compactDecrypt(sealed, secret).catch(() => null);
    if (opened === null) continue;
    const { key, url, ...credentials } = JSON.parse(new TextDecoder().decode(opened.plaintext)) as Sealed;
    return key === record.key && url === record.url ? { ...record, ...credentials } : null;
  }
  return null;
}
