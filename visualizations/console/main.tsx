/** The console starts: who is signed in is asked first, then the page is drawn. */
import { render } from "preact";
import { readSession } from "./api.ts";
import { App } from "./app.tsx";
import { listenForKeys } from "./keys.ts";

listenForKeys();
render(<App />, document.getElementById("console") as HTMLElement);
void readSession();
