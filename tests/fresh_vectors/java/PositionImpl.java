package org.apache.bookkeeper.mledger.impl;

/** What a consumer of the releases before 4.0 keeps of its place; it takes no part in who gets what. */
public class PositionImpl {
}
