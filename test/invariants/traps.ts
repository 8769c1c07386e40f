/**
 * Traps on every way out of a process: files, sockets, processes, fetch. Each notes who sprang it, and does nothing.
 * Owns: the traps, and what counts as an operator's code. Never: runs a kernel (`trapped-kernel.ts` and
 * `trapped-failures.ts` do).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import child_process from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import tls from "node:tls";

const { writeSync } = fs;
const operating = new AsyncLocalStorage<true>();

export interface Sprung {
  readonly way: string;
  readonly by: "operator" | "kernel";
}

const sprung: Sprung[] = [];

/** Runs as an operator's code does: what it reaches for is its own doing. */
export const asOperator = <T>(run: () => T): T => operating.run(true, run);

const trapFor = (way: string) => () =>
  void sprung.push({ way, by: operating.getStore() === true ? "operator" : "kernel" });

/** Replaces each function of a module by a trap. */
function trap(name: string, module: object): void {
  for (const [key, value] of Object.entries(module)) {
    if (typeof value !== "function" || /^[A-Z]/.test(key)) continue;
    Object.defineProperty(module, key, { configurable: true, value: trapFor(`${name}.${key}`) });
  }
}

/** From now on nothing leaves the process. What is loaded later is loaded by nobody: load it before. */
export function setTraps(): void {
  const modules = { fs, "fs.promises": fs.promises, net, tls, http, https, dgram, dns, child_process };
  for (const [name, module] of Object.entries(modules)) trap(name, module);
  globalThis.fetch = trapFor("fetch") as never;
  syncBuiltinESMExports();
}

/** Prints what happened, and which traps were sprung, as JSON. */
export const tell = (told: object): void => void writeSync(1, JSON.stringify({ ...told, sprung }));
