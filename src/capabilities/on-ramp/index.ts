import { capability } from "../../engine/capability.ts";
import { createFiatOnRampCredential } from "./create-fiat-on-ramp-credential.ts";
import { deleteFiatOnRampCredential } from "./delete-fiat-on-ramp-credential.ts";
import { getOnrampTransactionStatus } from "./get-onramp-transaction-status.ts";
import { initFiatOnRamp } from "./init-fiat-on-ramp.ts";
import { listFiatOnRampCredentials } from "./list-fiat-on-ramp-credentials.ts";
import { onRampKey } from "./on-ramp-key.ts";
import { updateFiatOnRampCredential } from "./update-fiat-on-ramp-credential.ts";

/** On-ramp: people buy crypto for fiat at providers where the organization has an account. */
export const onRamp = capability({
  title: "Fiat on-ramp",
  operations: [
    createFiatOnRampCredential,
    updateFiatOnRampCredential,
    deleteFiatOnRampCredential,
    listFiatOnRampCredentials,
    initFiatOnRamp,
    getOnrampTransactionStatus,
  ],
  serviceKeys: [onRampKey],
  erases: ["on_ramp_credentials", "on_ramp_transactions"],
});
