/** A header as one text. Headers that Node keeps apart if repeated are joined with a comma, as Node joins the others. */
export const joinedHeader = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(", ") : value;
