import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { shownAddress } from "./contracts.ts";
import { EarnAddress } from "./model.ts";
import { requireKnownWrapper, setDepositsDisabled } from "./store.ts";

export const earnSetWrapperState = activity({
  path: "earn_set_wrapper_state",
  summary: "Allow or refuse deposits into a wrapper through this API. Withdrawals are never refused.",
  only: "parents",
  intent: Strict({ wrapperAddress: EarnAddress, depositsDisabled: Type.Boolean() }),
  result: Type.Object({ wrapperAddress: Type.String(), depositsDisabled: Type.Boolean() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  async run({ intent, tx, organization, now }) {
    const { depositsDisabled } = intent;
    const { organizationId, wrapperAddress } = await requireKnownWrapper(tx, organization, intent.wrapperAddress);
    const state = { depositsDisabled: depositsDisabled ? 1 : 0, now };
    await setDepositsDisabled(tx, { organizationId, wrapperAddress, ...state });
    return { wrapperAddress: shownAddress(wrapperAddress), depositsDisabled };
  },
});
