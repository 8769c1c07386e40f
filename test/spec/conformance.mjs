#!/usr/bin/env node
// Which requirements a passing test shows: a test shows those whose ids stand in brackets in its title.
// Owns: the count. Never: an opinion on a test; a requirement with one failing test is not shown.
//   npm run unit ; npm run conformance            every area, and what is missing
//   npm run conformance -- INV EXE                these areas only
//   node test/spec/conformance.mjs --report FILE  of another report than report.json
// Ends with 0 when every counted requirement is shown, 1 when one is not, 2 when there is nothing to count.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { positionals: areas, values: options } = parseArgs({
  allowPositionals: true,
  options: { report: { type: "string", default: fileURLToPath(new URL("../../report.json", import.meta.url)) } },
});
const requirementsUrl = new URL("requirements.yaml", import.meta.url);

function readReport() {
  try {
    return JSON.parse(readFileSync(options.report, "utf8"));
  } catch {
    console.error(`there is no readable ${options.report}: run the tests first (npm run unit)`);
    process.exit(2);
  }
}

/** Every test that ran, as its full title and whether it passed. */
const testsIn = ({ testResults }) =>
  testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "passed" || status === "failed")
      .map(({ ancestorTitles, title, status }) => ({
        title: [...ancestorTitles, title].join(" "),
        passed: status === "passed",
      })),
  );

const idsIn = (title) =>
  (title.match(/\[[A-Z]+-\d+(?:[\s,]+[A-Z]+-\d+)*\]/g) ?? []).flatMap((group) => group.match(/[A-Z]+-\d+/g));

const areaOf = (id) => id.slice(0, id.indexOf("-"));

function judge(tests) {
  const verdicts = new Map();
  for (const { title, passed } of tests) {
    for (const id of idsIn(title)) verdicts.set(id, passed && verdicts.get(id) !== false);
  }
  return verdicts;
}

const requirements = Array.from(readFileSync(requirementsUrl, "utf8").matchAll(/^- id: (\S+)$/gm), ([, id]) => id);
const counted = requirements.filter((id) => areas.length === 0 || areas.includes(areaOf(id)));
const verdicts = judge(testsIn(readReport()));
const isShown = (id) => verdicts.get(id) === true;
const describeMissing = (id) => (verdicts.get(id) === false ? `${id} (a test fails)` : id);

for (const [area, ids] of Map.groupBy(counted, areaOf)) {
  const missing = ids.filter((id) => !isShown(id));
  const count = `${ids.length - missing.length}/${ids.length}`;
  const missed = missing.length === 0 ? "" : `  missing ${missing.map(describeMissing).join(", ")}`;
  console.log(`${area.padEnd(6)}${count.padStart(7)}${missed}`);
}
console.log(`${counted.filter(isShown).length} of ${counted.length} requirements are shown by passing tests`);

if (counted.length === 0) {
  console.error(`no requirement is of ${areas.join(", ")}`);
  process.exitCode = 2;
} else if (!counted.every(isShown)) process.exitCode = 1;
