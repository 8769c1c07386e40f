/** The filters of a list that are seldom used, behind a fold that says how many of them have a value. */
import type { AddressQuery } from "../address-query.ts";
import { Words } from "./inbox-filter.tsx";

type Named<Name> = readonly (readonly [name: Name, title: string])[];

interface MoreFiltersProps<Name extends string> {
  readonly query: AddressQuery<Name>;
  readonly words: Named<Name>;
  readonly dates: Named<Name>;
  readonly set: (name: Name, value: string) => void;
}

export function MoreFilters<Name extends string>({ query, words, dates, set }: MoreFiltersProps<Name>) {
  const given = [...words, ...dates].filter(([name]) => query[name] !== "").length;
  return (
    <details class="filter-more">
      <summary>Filters{given > 0 && <span class="badge">{given}</span>}</summary>
      <div class="filters">
        {words.map(([name, title]) => (
          <Words key={name} title={title} value={query[name]} known={[]} set={(value) => set(name, value)} />
        ))}
        {dates.map(([name, title]) => (
          <label key={name} class="field">
            <span>{title}</span>
            <input type="date" value={query[name]} onChange={(e) => set(name, e.currentTarget.value)} />
          </label>
        ))}
      </div>
    </details>
  );
}
