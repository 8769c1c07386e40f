/** A button that leads to the decision of a gate, on a screen on which that is out of sight. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export function ToDecision() {
  const isAway = useSignal(false);
  useEffect(() => {
    const decision = document.getElementById("decision");
    if (decision === null) return;
    const observer = new IntersectionObserver(([entry]) => {
      isAway.value = entry?.isIntersecting === false;
    });
    observer.observe(decision);
    return () => observer.disconnect();
  }, [isAway]);
  if (!isAway.value) return null;
  const go = () => {
    const decision = document.getElementById("decision");
    decision?.scrollIntoView({ block: "start" });
    decision?.focus({ preventScroll: true });
  };
  return (
    <button type="button" class="to-decision" onClick={go}>
      To the decision
    </button>
  );
}
