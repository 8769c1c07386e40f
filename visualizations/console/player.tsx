/** The player of a recording: the page of `countersign inspect --html`, which holds its recording and asks nobody. */
import { render } from "preact";
import type { Recording } from "../../src/contract/recording.ts";
import { Playback } from "./views/playback.tsx";

const block = document.getElementById("recording");
const recording = JSON.parse(block?.textContent ?? "null") as Recording;
render(<Playback recording={recording} />, document.getElementById("console") as HTMLElement);
