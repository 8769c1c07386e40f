/** One kernel a process, however often Next loads a module anew while somebody develops. */
import { createKernel, type Kernel } from "countersign";
import { createHttpApp, type HttpApp } from "countersign/http";
import { person, refund } from "../shop/refund.ts";

const kept = globalThis as { countersign?: Promise<{ readonly kernel: Kernel; readonly app: HttpApp }> };

async function open() {
  const kernel = await createKernel({ capabilities: [refund] });
  return { kernel, app: createHttpApp(kernel, { tokens: [{ token: "my-own", ...person("bo") }] }) };
}

export const opened = () => (kept.countersign ??= open());
export const api = async (): Promise<HttpApp> => (await opened()).app;
