/**
 * Holds answers to the document of the API: the status is one that it names, the body holds its schema and nothing
 * more.
 * Owns: finding the operation of a request. Never: asserts; it gives what is wrong, in words.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type ApiDocument, makeDocument, type Operation } from "../../src/faces/http/document/make-document.ts";
import type { Route } from "../../src/faces/http/index.ts";

export interface Heard {
  readonly method: string;
  /** With or without a query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface AnswerJudge {
  readonly document: ApiDocument;
  /** The operation that a request is for, by its id; null where there is none. */
  readonly operationOf: (method: string, path: string) => string | null;
  /** What is wrong with an answer; nothing where nothing is. */
  readonly judge: (heard: Heard) => readonly string[];
}

interface Place {
  readonly pattern: RegExp;
  readonly methods: Readonly<Record<string, Operation>>;
}
interface Content {
  readonly schema: object & { readonly contentSchema?: { readonly properties: { readonly data: object } } };
}
interface Told {
  readonly content?: Readonly<Record<string, Content>>;
}

const judges = new Map<string, AnswerJudge>();

/** One judge for all apps with the same routes. */
export function answerJudge(routes: readonly Route[]): AnswerJudge {
  const name = JSON.stringify(routes.map(({ method, path }) => [method, path]));
  const judge = judges.get(name) ?? makeJudge(makeDocument(routes, { closed: true }));
  judges.set(name, judge);
  return judge;
}

export function makeJudge(document: ApiDocument): AnswerJudge {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(document as object, "document");
  const places = Object.entries(document.paths).map(([path, methods]): Place => {
    const pattern = new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
    return { pattern, methods };
  });
  // An address that is spelled out is meant before one with a parameter.
  places.sort((a, b) => Number(a.pattern.source.includes("[^")) - Number(b.pattern.source.includes("[^")));
  const responses = document.components["responses"] as Readonly<Record<string, Told>>;
  const find = (method: string, path: string): Operation | undefined => {
    const bare = decodePath(path.replace(/[?#].*$/s, ""));
    const place = places.find(({ pattern }) => pattern.test(bare));
    return place?.methods[(method === "HEAD" ? "GET" : method).toLowerCase()];
  };
  const checks = checksOf(ajv);
  return {
    document,
    operationOf: (method, path) => find(method, path)?.operationId ?? null,
    judge(heard) {
      const operation = find(heard.method, heard.path);
      const told = operation === undefined ? null : toldFor(operation, heard.status, responses);
      if (told === null) return judgeOutside(heard, operation, checks);
      return heard.method === "HEAD" ? [] : judgeBody(heard, told, checks);
    },
  };
}

/** As a router reads it: what is encoded without need is the same address. */
function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const problem: Content["schema"] = { ...{ $ref: "#/components/schemas/ProblemDetails" } };
type Check = (schema: object) => ValidateFunction;

function checksOf(ajv: Ajv2020): Check {
  const compiled = new Map<string, ValidateFunction>();
  return (schema) => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#');
    const check = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
    compiled.set(text, check);
    return check;
  };
}

function toldFor({ responses }: Operation, status: number, shared: Readonly<Record<string, Told>>): Told | null {
  const told = responses[status] ?? responses[`${Math.floor(status / 100)}XX`];
  if (told === undefined) return null;
  return typeof told["$ref"] === "string" ? (shared[told["$ref"].split("/").at(-1) as string] as Told) : (told as Told);
}

/** What is no operation of the document is answered with one of these problems; OPTIONS and redirects have no body. */
function judgeOutside(heard: Heard, operation: Operation | undefined, check: Check): readonly string[] {
  const { status, method, text } = heard;
  if (operation !== undefined) return [`${operation.operationId} names no status ${status}`];
  if (method === "OPTIONS" && status === 204) return text === "" ? [] : ["an answer 204 has a body"];
  if (![400, 401, 404, 405].includes(status)) return [`no route, and status ${status}`];
  return method === "HEAD"
    ? []
    : judgeBody(heard, { content: { "application/problem+json": { schema: problem } } }, check);
}

function judgeBody({ headers, text }: Heard, { content }: Told, check: Check): readonly string[] {
  if (content === undefined) return text === "" ? [] : ["there is a body where none is told"];
  const type = (headers.get("content-type") ?? "").replace(/;.*$/, "");
  const told = Object.entries(content).find(([name]) => name.replace(/;.*$/, "") === type)?.[1];
  if (told === undefined) return [`the content type ${type} is not told`];
  if (type === "text/event-stream") return judgeEvents(text, told, check);
  return !type.endsWith("json") ? [] : complaints(check(told.schema), JSON.parse(text));
}

function judgeEvents(text: string, told: Content, check: Check): readonly string[] {
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, line = ""]) => JSON.parse(line) as unknown);
  return data.flatMap((item) => complaints(check(told.schema.contentSchema?.properties.data as object), item));
}

const complaints = (check: ValidateFunction, value: unknown): readonly string[] =>
  check(value)
    ? []
    : (check.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      );
