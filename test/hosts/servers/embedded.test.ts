/** The embedded host in processes that share a database. */
import { hostSuite } from "./host-suite.ts";

hostSuite("the embedded host", async () => ({}));
