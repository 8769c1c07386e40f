/** The lists that come in pages: the number of items on one, and the route of a list of a tenant. */
import type { z } from "zod";
import type { List } from "../../../api/operation.ts";
import { offer, type Route } from "../add-route.ts";
import type { Edge } from "../edge.ts";

/** The result of reading a query that `make` describes. */
export type QueryOf<Make extends (most: number) => z.ZodType> = z.output<ReturnType<Make>>;

/** The number of items on a page unless the query names one. */
const usualPage = 50;

/** Returns the filter that a query asks for, with the number of items on its page. */
export const withLimit = <Query extends { readonly limit?: number | undefined }>(
  { options }: Edge,
  query: Query,
): Query & { readonly limit: number } => ({
  ...query,
  limit: query.limit ?? Math.min(usualPage, options.limits.maxPage),
});

/** Describes the route of a list. */
export const pageRoute = <Query extends z.ZodObject>(list: List<z.ZodObject, object>, query: Query): Route<Query> => ({
  ...offer(list),
  method: "get",
  path: `/v1/kernel/${list.word}`,
  query,
  answers: { 200: { description: "A page; `next` is the cursor of the one after it.", schema: list.answer } },
});
