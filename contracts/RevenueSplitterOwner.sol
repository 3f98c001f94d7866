// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {FeeSplitter} from "./FeeSplitter.sol";

/// Pays everybody at once: whatever revenue there is, is split in one transaction.
contract RevenueSplitterOwner is FeeSplitter {
    constructor(address client_, uint256 clientFeeBps, address service_, uint256 serviceFeeBps)
        FeeSplitter(client_, clientFeeBps, service_, serviceFeeBps)
    {}

    function splitRevenue(IERC20 token) external nonReentrant {
        _collect(token);
        uint256 paid = _pay(token, client);
        if (service != client) paid += _pay(token, service);
        require(paid > 0, NothingDue(client));
    }
}
