import { Type } from "typebox";
import { removeSecrets } from "../../authority/rules/secrets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_DELETED_SECRETS_PER_REQUEST } from "../../kernel/limits.ts";
import { factsOfSecrets, refuseRepeated } from "./model.ts";
import { findSecrets } from "./store.ts";

export const deleteSecrets = activity({
  path: "delete_secrets",
  summary: "Delete secrets permanently, whether or not they were exported: all of them, or none.",
  intent: Strict({ secretIds: SomeOf(Id, MAX_DELETED_SECRETS_PER_REQUEST) }),
  result: Type.Object({ secretIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "SECRET", action: "DELETE" }),
  async policyFacts({ intent: { secretIds }, read, organization }) {
    const secrets = await findSecrets(read, organization.id, secretIds);
    return factsOfSecrets([...secrets.values()], secretIds.length);
  },
  check: ({ secretIds }) => refuseRepeated(secretIds, (index) => `parameters.secretIds.${index}`),
  change: ({ view, intent: { secretIds } }) => changesOn(view, (draft) => removeSecrets(draft, secretIds)),
  answer: ({ intent: { secretIds } }) => ({ secretIds }),
});
