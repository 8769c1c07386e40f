/** The command that decides a gate whose votes are signed: this page holds no keys. */
import type { Gate } from "../../../src/contract/gate.ts";

export const SignedOnly = ({
  gate: { kind, workflow_id, gate_id, payload_digest, basis_digest },
}: {
  readonly gate: Gate;
}) => {
  const basis = basis_digest === undefined ? "" : ` --basis ${basis_digest}`;
  const given = { approval: "", in_doubt: " --resolution done --result JSON", ask: " --answer JSON" };
  const settles = given[kind];
  const shown = `--digest ${payload_digest}${basis}`;
  return (
    <>
      <p>
        Every vote at this gate is signed with the voter's own key. This page holds no keys; decide with the command
        line:
      </p>
      <pre class="block">{`npx countersign approve ${workflow_id} ${gate_id} ${shown}${settles} --sign KEYFILE`}</pre>
      {kind === "in_doubt" && (
        <p class="quiet">Or “--resolution retry”, without a result, to have the call made again.</p>
      )}
      <p class="quiet">
        “reject” in the place of “approve”{" "}
        {kind === "in_doubt" ? "says that it did not happen, and gives up" : "rejects"}.
      </p>
    </>
  );
};
