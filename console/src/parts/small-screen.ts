/** Where the menu is closed until it is opened, and the cells of a table's row stand one below the other: as in style.css. */
export const SMALL_SCREEN = "(max-width: 47.99em)";

export const isSmallScreen = (): boolean => matchMedia(SMALL_SCREEN).matches;
