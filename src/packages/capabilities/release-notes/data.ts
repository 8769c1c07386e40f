/**
 * Data: the content of the notes as JSON for programs. Pure.
 *
 * Owns: its form: `format` counts up when a field changes its meaning. Never: leaves out a commit; those without an
 * entry are in `omitted`.
 */
import type { DraftQuestion } from "./draft.ts";
import { commitUrl, compareUrl } from "./host-links.ts";

const format = 1;

export function describeAsData({ groups, omitted, title, version, tag, ...range }: DraftQuestion): string {
  const { since, until_hash, remote_url, total, shallow, contributors } = range;
  const compare = remote_url === null || since === null ? null : compareUrl(remote_url, since, tag?.name ?? until_hash);
  const sections = groups.map((group) => ({
    title: group.title,
    changes: group.changes.map((change) => ({
      ...change,
      url: remote_url === null ? null : commitUrl(remote_url, change.hash),
    })),
  }));
  const head = { format, title, version, tag: tag?.name ?? null, date: tag?.date ?? null, since, until_hash };
  const data = { ...head, remote_url, compare_url: compare, total, shallow, sections, omitted, contributors };
  return `${JSON.stringify(data, null, 2)}\n`;
}
