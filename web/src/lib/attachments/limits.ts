// Pages of a PDF that are read at most.
export const mostPages = 500;
