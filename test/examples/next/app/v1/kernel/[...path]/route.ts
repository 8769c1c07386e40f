/** All of the HTTP API as one route handler of Next: the address is the folder's own. */
import { api } from "../../../../kernel.ts";

export const runtime = "nodejs"; // the kernel lives in a Node process, not at the edge
export const dynamic = "force-dynamic";

const handle = async (request: Request): Promise<Response> => (await api()).fetch(request);

export { handle as DELETE, handle as GET, handle as POST };
