/** The name under which limits count a caller, whatever credential they come with. */
import type { HttpCaller } from "./http-options.ts";

export const nameOfCaller = ({ tenant_id, principal }: HttpCaller): string =>
  JSON.stringify([tenant_id, principal.type, principal.id]);
