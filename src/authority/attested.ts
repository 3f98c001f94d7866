import type { AuthenticationType, Contact, ContactType } from "./state.ts";

/** The credential types of what tokens attest. The API has none for them; policies, MFA policies and votes use these. */
export const attestedTypes = {
  EMAIL: "CREDENTIAL_TYPE_ATTESTED_EMAIL",
  PHONE_NUMBER: "CREDENTIAL_TYPE_ATTESTED_PHONE_NUMBER",
  OAUTH: "CREDENTIAL_TYPE_ATTESTED_OAUTH",
} as const;

const ofContacts: readonly string[] = [attestedTypes.EMAIL, attestedTypes.PHONE_NUMBER];

/** Whether a credential type is that of a contact. */
export const isContact = (type: string): boolean => ofContacts.includes(type);

export const isAttested = (type: string): boolean => type === attestedTypes.OAUTH || isContact(type);

/** A contact in the form of a credential. Contacts have no id, so their URI (RFC 6068, RFC 3966) is used. */
export const contactCredential = (contact: Contact): { id: string; type: string } => ({
  id: contact.type === "EMAIL" ? `mailto:${contact.value}` : `tel:${contact.value}`,
  type: attestedTypes[contact.type],
});

/** The feature that lets an organization's users sign in by codes sent to a type of contact. */
export const otpFeatures: Record<ContactType, string> = {
  EMAIL: "FEATURE_NAME_OTP_EMAIL_AUTH",
  PHONE_NUMBER: "FEATURE_NAME_SMS_AUTH",
};

/** The authentication types in MFA policies of codes sent to a type of contact. */
export const otpMethods = {
  EMAIL: "AUTHENTICATION_TYPE_EMAIL_OTP",
  PHONE_NUMBER: "AUTHENTICATION_TYPE_SMS_OTP",
} as const satisfies Record<ContactType, AuthenticationType>;
