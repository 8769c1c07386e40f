/** The field for a comment that is kept with a decision. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface CommentFieldProps {
  readonly comment: Signal<string>;
  /** The label. */
  readonly children: ComponentChildren;
}

export const CommentField = ({ comment, children }: CommentFieldProps) => (
  <label class="field">
    <span>{children}</span>
    <textarea
      rows={2}
      maxLength={4096}
      value={comment.value}
      onInput={(e) => {
        comment.value = e.currentTarget.value;
      }}
    />
  </label>
);
