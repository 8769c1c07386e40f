/** The values that a field suggests, which names them by `list`. */
interface SuggestionsProps {
  readonly id: string;
  readonly known: readonly string[];
}

export const Suggestions = ({ id, known }: SuggestionsProps) => (
  <datalist id={id}>
    {known.map((one) => (
      <option key={one} value={one} />
    ))}
  </datalist>
);
